import SpoolCore
import SpoolDASH
import SpoolManifests
import Testing

/// Feeds the readers of manifests with broken documents. None crashes, none hangs, and each result is
/// consistent with its document.
@Suite(.timeLimit(.minutes(20))) struct ManifestFuzzTests {
    private let url = "https://origin.example/a/main.m3u8?x=1"

    @Test func `every reference of a broken manifest lies in it, in order, and nothing else changes`() throws {
        let fuzzer = try Fuzzer("manifests", rounds: 4000)
        let reader = ManifestReader(formats: [DASHFormat()])
        try fuzzer.run { (bytes: [UInt8]) in
            let contents: ManifestContents?
            do { contents = try reader.contents(of: bytes, at: url, variables: ["i": "https://cdn.example"]) } catch { return }
            guard let contents else { return }
            var position = 0
            for reference in contents.references {
                guard reference.span.lowerBound >= position, reference.span.upperBound <= bytes.count else {
                    Issue.record("a reference at \(reference.span) behind \(position); seed \(fuzzer.seed): \(bytes)")
                    return
                }
                position = reference.span.upperBound
            }
            let rewritten = try reader.rewritten(bytes, contents) { $0.url.map { "/proxied?\($0.utf8.count)" } }
            let unchanged = try reader.rewritten(bytes, contents) { _ in nil }
            let again = try reader.rewritten(bytes, contents) { $0.url.map { "/proxied?\($0.utf8.count)" } }
            if rewritten != again || (contents.edits.isEmpty && unchanged != bytes) {
                Issue.record("another result; seed \(fuzzer.seed): \(bytes)")
            }
        }
    }
}
