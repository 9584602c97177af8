import SpoolTesting
import Testing

/// Random mixes of everything that origins do, with clients that seek and leave, and with kills and power losses in between.
///
/// Whatever happens: what a client gets from one seek to the next is a prefix of what it asked for, of one version, and with a strong
/// validator of the same one after each seek; no page is taken for media; the store holds bytes of the version that it names, and keeps
/// them where no answer says otherwise; every reader and every request ends.
@Suite struct OriginMixTests {
    @Test(.timeLimit(.minutes(20)))
    func `whatever origins do, clients get bytes of one version, and every request ends`() throws {
        for seed in Seeds.list(count: 200, nightly: 10_000) {
            guard let story = try OriginMix.story(ofSeed: seed) else { continue }
            Issue.record("\(story)\nSPOOL_SEED=\(seed) swift test -c release --filter OriginMixTests")
            // In the nights all seeds that fail are wanted.
            if !Seeds.isNightly { return }
        }
    }
}
