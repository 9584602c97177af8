import Foundation
import SpoolCore
import SpoolOrigin
import SpoolTesting
import Testing

/// Fields for origins that players cannot send: `--header`, `--header-for` and `--cookies`.
@Suite(.timeLimit(.minutes(20)))
struct HeaderCommandTests {
    private let directory = Result { try ScratchDirectory() }

    /// An origin that serves a film only for requests with every one of these fields.
    private func origin(demands fields: HTTPFields) throws -> (RawOrigin, url: String) {
        let origin = try RawOrigin(script: { request, _ in
            fields.lines.allSatisfy { request.fields[$0.name] == $0.value } ? .correct : .status(401, body: Array("who are you?".utf8))
        })
        origin.serve(VirtualResource(url: origin.url("/film.mp4"), seed: 3, length: 100_000))
        return (origin, origin.url("/film.mp4"))
    }

    private func write(_ text: String, to name: String, permissions: Int = 0o600) throws -> String {
        let path = try directory.get().path(name)
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
        return path
    }

    @Test func `an origin that demands fields serves a request with them, and refuses one without`() throws {
        let directory = try directory.get()
        let (origin, url) = try origin(demands: [
            "User-Agent": "MyTV/2", "Authorization": "Bearer t0ken", "X-Device": "tv", "Cookie": "session=abc; id=7",
        ])
        defer { origin.stop() }
        let without = try SpoolProcess.run(["get", url, "--cache", directory.path("a")], in: directory)
        #expect(without.code == 1 && without.errors.contains("401"), "\(without.errors)")
        let file = try write("# of the account\nAuthorization: Bearer t0ken\nX-Device: tv\n", to: "fields")
        let here = origin.url("")
        let cookies = try write("\(here)\tFALSE\t/\tFALSE\t0\tid\t7\n", to: "cookies.txt", permissions: 0o644)
        let with = try SpoolProcess.run(
            [
                "get", url, "--cache", directory.path("b"), "--header", "User-Agent: MyTV/2", "--header-for", here, "@" + file,
                "--header-for", here, "Cookie: session=abc", "--cookies", cookies, "--header-for", "other.test", "X-Device: none",
                "-v",
            ], in: directory)
        #expect(with.output.count == 100_000, "\(with.errors)")
        #expect(!with.errors.contains("t0ken") && !with.errors.contains("session=abc"), "\(with.errors)")
    }

    @Test func `through serve, a player without the fields plays, and every origin request has them`() throws {
        let directory = try directory.get()
        let (origin, url) = try origin(demands: ["X-Device": "tv"])
        defer { origin.stop() }
        let process = try SpoolProcess(
            ["serve", "--listen", "127.0.0.1:0", "--cache", directory.path("store"), "--header-for", origin.url(""), "X-Device: tv"],
            in: directory)
        let base = try #require(process.readLine()).dropFirst("listening on ".count)
        let here = "\(base)http/" + url.dropFirst("http://".count)
        for (turn, range) in ["500-999", "0-99999", "70000-"].enumerated() {
            let got = try SpoolProcess.run(
                ["get", "--as-given", here, "--range", range, "--cache", directory.path("other-\(turn)")], in: directory)
            #expect(got.code == 0 && !got.output.isEmpty, "\(range): \(got.errors)")
        }
        #expect(origin.log.entries.allSatisfy { $0.request.fields["X-Device"] == "tv" })
        process.send(SIGINT)
        #expect(try process.end().code == 0)
    }

    @Test func `fields for one host do not follow a redirect to another, which gets its own`() throws {
        let directory = try directory.get()
        let (cdn, _) = try origin(demands: ["X-Of-CDN": "yes"])
        defer { cdn.stop() }
        let target = "http://localhost:\(cdn.port)/film.mp4"
        let site = try RawOrigin(script: { _, _ in .status(302, fields: ["Location": target]) })
        defer { site.stop() }
        site.serve(VirtualResource(url: site.url("/film.mp4"), seed: 3, length: 100_000))
        let got = try SpoolProcess.run(
            [
                "get", site.url("/film.mp4"), "--cache", directory.path("store"), "--header-for", site.url(""), "X-Of-Site: yes",
                "--header-for", "http://localhost:\(cdn.port)", "X-Of-CDN: yes", "--header", "X-Of-All: yes", "--header",
                "Authorization: Basic YTpi",
            ], in: directory)
        #expect(got.output.count == 100_000, "\(got.errors)")
        let atSite = try #require(site.log.entries.first), atCDN = try #require(cdn.log.entries.first)
        #expect(atSite.request.fields["X-Of-Site"] == "yes" && atSite.request.fields["X-Of-CDN"] == nil)
        #expect(atSite.request.fields["Authorization"] == "Basic YTpi" && atSite.request.fields["X-Of-All"] == "yes")
        #expect(atCDN.request.fields["X-Of-Site"] == nil && atCDN.request.fields["Authorization"] == nil)
    }

    @Test func `fields and cookies of a bare host go to https, and those of an origin to no other port`() throws {
        let directory = try directory.get()
        let (origin, url) = try origin(demands: [:])
        defer { origin.stop() }
        let cookies = try write("127.0.0.1\tFALSE\t/\tFALSE\t0\tid\t7\n", to: "cookies.txt")
        let got = try SpoolProcess.run(
            [
                "get", url, "--cache", directory.path("store"), "--header-for", "127.0.0.1", "X-Device: tv", "--header-for",
                "127.0.0.1:\(origin.port)", "X-Device: tv", "--header-for", "http://127.0.0.1:1", "X-Device: tv", "--cookies", cookies,
            ], in: directory)
        #expect(got.output.count == 100_000, "\(got.errors)")
        #expect(origin.log.entries.allSatisfy { $0.request.fields["X-Device"] == nil && $0.request.fields["Cookie"] == nil })
        let advice = "give --header-for http://127.0.0.1:\(origin.port)\n"
        #expect(got.errors.components(separatedBy: advice).count == 2, "once: \(got.errors)")
    }

    @Test func `a file of fields that others can read is refused`() throws {
        let file = try write("Authorization: Bearer t0ken\n", to: "open", permissions: 0o644)
        let outcome = try SpoolProcess.run(["get", "http://a.test/", "--header", "@" + file], in: directory.get())
        #expect(outcome.code == 64 && outcome.errors.contains("chmod 600"), "\(outcome.errors)")
    }

    @Test func `beside a server, get sends the fields and warns that the bytes are not kept`() throws {
        let directory = try directory.get()
        let (origin, url) = try origin(demands: ["X-Device": "tv"])
        defer { origin.stop() }
        let store = ["--cache", directory.path("store")]
        let server = try SpoolProcess(["serve", "--listen", "127.0.0.1:0"] + store, in: directory)
        _ = server.readLine()
        let got = try SpoolProcess.run(["get", url, "--header", "X-Device: tv"] + store, in: directory)
        #expect(got.output.count == 100_000 && got.errors.contains("not kept"), "\(got.errors)")
        server.send(SIGINT)
        #expect(try server.end().code == 0)
    }
}
