import SpoolCore
import SpoolDASH
import SpoolManifests
import Testing

/// Feeds the reader of MPDs with broken documents.
@Suite(.timeLimit(.minutes(20))) struct DASHFuzzTests {
    @Test func `a broken MPD is passed on, or only the spans of its references change`() throws {
        let fuzzer = try Fuzzer("mpds", rounds: 3000)
        let url = "https://origin.example/live/manifest.mpd"
        try fuzzer.run { (bytes: [UInt8]) in
            guard let contents = try? DASHManifest.contents(of: bytes, at: url) else { return }
            let reader = ManifestReader()
            // Nothing is replaced without an answer for a reference, except what is removed.
            if contents.edits.isEmpty, try reader.rewritten(bytes, contents, replacement: { _ in nil }) != bytes {
                Issue.record("other bytes; seed \(fuzzer.seed): \(bytes)")
            }
            let rewritten = try reader.rewritten(bytes, contents) { _ in "/TOKEN/https/a.example/b?c=1&d='\"<>" }
            guard let again = try? DASHManifest.contents(of: rewritten, at: url) else {
                Issue.record("the result is no MPD; seed \(fuzzer.seed): \(bytes)")
                return
            }
            if again.kind != contents.kind || again.lifetime != contents.lifetime {
                Issue.record("another document; seed \(fuzzer.seed): \(bytes)")
            }
        }
    }
}
