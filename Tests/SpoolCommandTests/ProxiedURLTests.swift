import Foundation
import SpoolCommand
import SpoolTesting
import Testing

/// URLs of a proxy on this machine, as players have them, given to commands.
@Suite(.timeLimit(.minutes(20)))
struct ProxiedURLTests {
    struct Case: CustomStringConvertible, Sendable {
        var given: String
        /// The URL that is meant, or nil when the given one is not proxied.
        var meant: String?

        var description: String { given }
    }

    static let cases = [
        Case(given: "http://127.0.0.1:8080/http/origin/x.mp4", meant: "http://origin/x.mp4"),
        Case(given: "http://127.0.0.1:8080/https/example.com/a/b.mp4?c=d&e", meant: "https://example.com/a/b.mp4?c=d&e"),
        Case(given: "http://127.0.0.1:8080/https/example.com:8443/", meant: "https://example.com:8443/"),
        Case(given: "http://localhost/https/example.com/a.mp4", meant: "https://example.com/a.mp4"),
        Case(given: "HTTP://LocalHost:8080/HTTPS/example.com/a.mp4", meant: "HTTPS://example.com/a.mp4"),
        Case(given: "http://[::1]:8080/https/example.com/a.mp4", meant: "https://example.com/a.mp4"),
        Case(given: "http://127.9.9.9:8080/https/example.com/a.mp4", meant: "https://example.com/a.mp4"),
        Case(given: "http://127.0.0.1:8080/https/example.com/a.mp4#t=10", meant: "https://example.com/a.mp4"),
        Case(given: "http://127.0.0.1:8080/https/alice@example.com/a.mp4", meant: "https://alice@example.com/a.mp4"),
        Case(given: "http://127.0.0.1:8080/http/127.0.0.1:8081/a.mp4", meant: "http://127.0.0.1:8081/a.mp4"),
        Case(given: "http://127.0.0.1:8080/https/example.com/*.mp4", meant: "https://example.com/*.mp4"),
        Case(given: "http://127.0.0.1:8080/?url=https%3A%2F%2Fexample.com%2Fa.mp4%3Fb%3Dc", meant: "https://example.com/a.mp4?b=c"),
        Case(given: "http://127.0.0.1:8080/?x=1&url=https%3A%2F%2Fexample.com%2Fa.mp4", meant: "https://example.com/a.mp4"),
        // As it is pasted, and as a browser merges slashes.
        Case(given: "http://127.0.0.1:8080/https://example.com/a.mp4?b=c", meant: "https://example.com/a.mp4?b=c"),
        Case(given: "http://127.0.0.1:8080/https:/example.com/a.mp4", meant: "https://example.com/a.mp4"),
        Case(given: "http://127.0.0.1:8080/s3cret/http://nas/a.mp4", meant: "http://nas/a.mp4"),
        // With a token.
        Case(given: "http://127.0.0.1:8080/s3cret/https/example.com/a.mp4", meant: "https://example.com/a.mp4"),
        Case(given: "http://127.0.0.1:8080/s3cret/http/nas:9000/a.mp4", meant: "http://nas:9000/a.mp4"),
        Case(given: "http://127.0.0.1:8080/s3cret/http/localhost/a.mp4", meant: "http://localhost/a.mp4"),
        Case(given: "http://127.0.0.1:8080/s3cret/?url=https%3A%2F%2Fexample.com%2Fa.mp4", meant: "https://example.com/a.mp4"),
        Case(given: "http://127.0.0.1:8080/s3cret?url=https%3A%2F%2Fexample.com%2Fa.mp4", meant: "https://example.com/a.mp4"),
        // URLs of other servers on this machine.
        Case(given: "http://127.0.0.1:8080/music/song.mp3", meant: nil),
        Case(given: "http://127.0.0.1:8080/http/page.html", meant: nil),
        Case(given: "http://127.0.0.1:8080/files/http/guide/page.html", meant: nil),
        Case(given: "http://127.0.0.1:8080/a/b/https/example.com/a.mp4", meant: nil),
        Case(given: "http://127.0.0.1:8080/ftp/example.com/a.mp4", meant: nil),
        Case(given: "http://127.0.0.1:8080/http//a.mp4", meant: nil),
        Case(given: "http://127.0.0.1:8080/http/a b/c.mp4", meant: nil),
        Case(given: "http://127.0.0.1:8080/?url=film.mp4", meant: nil),
        Case(given: "http://127.0.0.1:8080/?url=ftp%3A%2F%2Fexample.com%2Fa.mp4", meant: nil),
        Case(given: "http://127.0.0.1:8080/?url=https%3A%2F%2Fexample.com%2Fa%", meant: nil),
        Case(given: "http://127.0.0.1:8080/s3cret/?key=film&url=https%3A%2F%2Fexample.com%2Fa.mp4", meant: nil),
        Case(given: "http://127.0.0.1:8080/_spool/https/example.com/a.mp4", meant: nil),
        Case(given: "http://127.0.0.1:8080/", meant: nil),
        Case(given: "http://127.0.0.1:8080", meant: nil),
        // Other machines and other schemes.
        Case(given: "http://192.168.1.9:8080/https/example.com/a.mp4", meant: nil),
        Case(given: "http://media.example/https/example.com/a.mp4", meant: nil),
        Case(given: "http://0.0.0.0:8080/https/example.com/a.mp4", meant: nil),
        Case(given: "https://127.0.0.1:8080/https/example.com/a.mp4", meant: nil),
        Case(given: "http://localhost.example.com/https/example.com/a.mp4", meant: nil),
        Case(given: "film.mp4", meant: nil), Case(given: "", meant: nil),
    ]

    @Test(arguments: cases)
    func `a proxied URL on this machine stands for the URL in it`(row: Case) {
        #expect(ProxiedURL.original(of: row.given) == row.meant)
    }

    @Test func `commands take the URL of a player, and a note names the URL that is meant`() throws {
        let scene = try FilmScene(["/a.mp4"], isStored: false)
        let (url, port) = (scene.url("/a.mp4"), try RawOrigin.unusedPort())
        let given = "http://127.0.0.1:\(port)/a-token/http/" + url.dropFirst("http://".count)
        let got = try scene.run("get", given)
        #expect(got.output == FilmScene.bytes)
        #expect(got.errors.hasPrefix("spool: the URL of a proxy on this machine stands for \(url)\n"), "\(got.errors)")
        #expect(try scene.listed() == ["/a.mp4"])
        let status = try scene.run("stat", given)
        #expect(status.text.contains("key        \(url)\n") && status.errors.contains(url))
        #expect(try scene.run("preload", "--whole", given).text.hasPrefix(url))
        #expect(try scene.run("pin", given).text == "pinned \(url)\n")
        #expect(try scene.run("unpin", given).text == "unpinned \(url)\n")
        #expect(try scene.run("verify", given).text.hasPrefix("1 resource,"))
        #expect(try scene.run("ls", given).text.contains(url))
        #expect(try scene.run("export", given, scene.directory.path("a.mp4")).code == 0)
        #expect(try scene.run("import", scene.directory.path("a.mp4"), given, "--replace").text.contains(" as \(url) ("))
        #expect(try scene.run("rm", given).text.hasPrefix("removed \(url)"))
        #expect(try scene.listed().isEmpty)
    }

    @Test func `with --as-given, the URL of a proxy is a URL like others`() throws {
        let scene = try FilmScene(["/a.mp4"])
        let given = "http://127.0.0.1:\(try RawOrigin.unusedPort())/http/" + scene.url("/a.mp4").dropFirst("http://".count)
        #expect(try scene.run("get", "--as-given", given).code == 69)
        let pinned = try scene.run("pin", "--as-given", given)
        #expect(pinned.text == "pinned \(given)\n")
        #expect(try scene.run("unpin", given).code == 1, "the resource itself is not pinned")
        #expect(try scene.run("unpin", "--as-given", given).text == "unpinned \(given)\n")
    }
}
