import Foundation
import SpoolTesting
import Testing

/// The flags of `spool serve --bucket`: what is refused, and what is not shown.
@Suite(.timeLimit(.minutes(20)))
struct BucketCommandTests {
    private let directory = Result { try ScratchDirectory() }

    private func keyFile(_ directory: ScratchDirectory, mode: Int = 0o600) throws -> String {
        let path = directory.path("keys")
        try Data("access-of-mine\nsecret-of-mine\n".utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    @Test func `an encrypted store has no bucket`() throws {
        let directory = try directory.get()
        let keys = try keyFile(directory)
        let flags = ["serve", "--bucket", "http://127.0.0.1:1/b", "--bucket-key-file", keys, "--passphrase-file", keys]
        let outcome = try SpoolProcess.run(flags, in: directory)
        #expect(outcome.code == 64 && outcome.errors.contains("encrypted store"), "\(outcome.errors)")
    }

    @Test func `a bucket needs credentials that only the user can read, and no message shows them`() throws {
        let directory = try directory.get()
        let flags = ["serve", "--bucket", "http://127.0.0.1:1/b"]
        let none = try SpoolProcess.run(flags, in: directory)
        #expect(none.code == 64 && none.errors.contains("AWS_ACCESS_KEY_ID"), "\(none.errors)")
        let open = try SpoolProcess.run(flags + ["--bucket-key-file", try keyFile(directory, mode: 0o644)], in: directory)
        #expect(open.code == 64 && open.errors.contains("chmod 600") && !open.errors.contains("of-mine"), "\(open.errors)")
        let other = ["serve", "--bucket", "http://u:of-mine@127.0.0.1:1/b", "--bucket-key-file", try keyFile(directory)]
        let wrong = try SpoolProcess.run(other, in: directory)
        #expect(wrong.code == 64 && !wrong.errors.contains("of-mine"), "\(wrong.errors)")
    }

    @Test func `the settings of a bucket are shown without its keys`() throws {
        let directory = try directory.get()
        let flags = ["config", "--bucket", "https://s3.example/media", "--bucket-key-file", try keyFile(directory)]
        let outcome = try SpoolProcess.run(flags, in: directory)
        #expect(outcome.code == 0 && outcome.text.contains("https://s3.example/media") && outcome.text.contains("us-east-1"))
        #expect(!outcome.text.contains("of-mine"), "\(outcome.text)")
    }

    @Test func `a server whose bucket is away serves and stops`() throws {
        let directory = try directory.get()
        let origin = try RawOrigin()
        defer { origin.stop() }
        origin.serve(VirtualResource(url: origin.url("/a.mp4"), seed: 3, length: 300_000))
        let server = try SpoolProcess(
            [
                "serve", "--listen", "127.0.0.1:0", "--cache", directory.path("cache"), "--bucket",
                "http://127.0.0.1:\(try RawOrigin.unusedPort())/b", "--bucket-key-file", try keyFile(directory),
            ], in: directory)
        let base = String(try #require(server.readLine()).dropFirst("listening on ".count))
        let url = base + "http/" + origin.url("/a.mp4").dropFirst("http://".count)
        let got = try SpoolProcess.run(["get", "--as-given", url, "-o", "-", "--cache", directory.path("other")], in: directory)
        #expect(got.code == 0 && got.output.count == 300_000, "\(got.errors)")
        server.send(SIGINT)
        let end = try server.end()
        #expect(end.code == 0 && end.errors.contains("the bucket does not serve"), "\(end.errors)")
    }
}
