import SpoolCore
import Testing

/// The grammar of a proxy's URLs.
@Suite struct ProxiedPathTests {
    struct Case: CustomStringConvertible, Sendable {
        var text: String
        var meaning: Meaning
        var isOfSite = false

        /// The URL of a resource and its key, or another meaning.
        enum Meaning: Hashable {
            case url(String, key: String? = nil)
            case path(ProxiedPath)
            case failure(ProxiedPath.Failure)
        }

        var description: String { (isOfSite ? "of a site: " : "") + text }
    }

    static let site = try? URIReference("https://site.example:444").origin

    static let cases = [
        Case(text: "http/example.com/a/b.mp3", meaning: .url("http://example.com/a/b.mp3")),
        Case(text: "https/example.com:8443/a?x=1&y=%20", meaning: .url("https://example.com:8443/a?x=1&y=%20")),
        Case(text: "http://example.com/a?b", meaning: .url("http://example.com/a?b")),
        Case(text: "https:/example.com:81/a//b", meaning: .url("https://example.com:81/a//b")),
        Case(text: "ftp://example.com/a", meaning: .failure(.notMedia("ftp://example.com/a"))),
        Case(text: "http:///a", meaning: .failure(.unknownForm)),
        Case(text: "https/example.com", meaning: .url("https://example.com/")),
        Case(text: "https/example.com?only=/query", meaning: .url("https://example.com/?only=/query")),
        Case(text: "http/[::1]:81/x", meaning: .url("http://[::1]:81/x")),
        Case(text: "http/user:word@example.com/x", meaning: .url("http://user:word@example.com/x")),
        Case(text: "http/example.com//double/../dots", meaning: .url("http://example.com//double/../dots")),
        Case(
            text: "http/example.com/x?url=http%3A%2F%2Fother.example%2F",
            meaning: .url("http://example.com/x?url=http%3A%2F%2Fother.example%2F")),
        Case(text: "http/example.com/x#t=10", meaning: .url("http://example.com/x")),
        Case(text: "?url=https%3A%2F%2Fexample.com%2Fa%3Fb%3D1%26c", meaning: .url("https://example.com/a?b=1&c")),
        Case(text: "?other=1&url=http%3A%2F%2Fexample.com%2F%25C3%25A9", meaning: .url("http://example.com/%C3%A9")),
        Case(text: "?url=http://example.com/a%23t=10", meaning: .url("http://example.com/a")),
        Case(text: "?key=film%2042&url=http%3A%2F%2Fexample.com%2Fa", meaning: .url("http://example.com/a", key: "film 42")),
        Case(text: "?url=http%3A%2F%2Fexample.com%2Fa&key=%C3%A9", meaning: .url("http://example.com/a", key: "é")),
        Case(text: "?url=http%3A%2F%2Fexample.com%2Fa&key=", meaning: .failure(.badKey)),
        Case(text: "?url=http%3A%2F%2Fexample.com%2Fa&key=a%0Ab", meaning: .failure(.badKey)),
        Case(text: "?url=http%3A%2F%2Fexample.com%2Fa&key=%ff", meaning: .failure(.badKey)),
        Case(text: "?url=%zz", meaning: .failure(.brokenEscape)), Case(text: "?url=http%3A%2F%2Fa%2F%C3", meaning: .failure(.brokenEscape)),
        Case(text: "?url=film.mp4", meaning: .failure(.notMedia("film.mp4"))),
        Case(text: "ftp/example.com/a", meaning: .failure(.notMedia("ftp://example.com/a"))),
        Case(text: "http", meaning: .failure(.unknownForm)), Case(text: "http/", meaning: .failure(.unknownForm)),
        Case(text: "file//etc/passwd", meaning: .failure(.unknownForm)), Case(text: "http/?x", meaning: .failure(.unknownForm)),
        Case(text: "", meaning: .path(.page)), Case(text: "?x=1", meaning: .path(.page)), Case(text: "_spool", meaning: .path(.page)),
        Case(text: "_spool?x", meaning: .path(.page)), Case(text: "_spool/", meaning: .path(.own(""))),
        Case(text: "_spool/api/resources?x", meaning: .path(.own("api/resources?x"))),
        Case(text: "_spool/child/http/example.com/a", meaning: .path(.own("child/http/example.com/a"))),
        Case(text: "favicon.ico", meaning: .path(.own("icon.svg"))),
        Case(text: "a/b?c", meaning: .url("https://site.example:444/a/b?c"), isOfSite: true),
        Case(text: "", meaning: .url("https://site.example:444/"), isOfSite: true),
        Case(text: "http/example.com/a", meaning: .url("https://site.example:444/http/example.com/a"), isOfSite: true),
        Case(text: "?url=x", meaning: .url("https://site.example:444/?url=x"), isOfSite: true),
        Case(text: ".//evil.example/x", meaning: .url("https://site.example:444//evil.example/x"), isOfSite: true),
        Case(text: "_spool/api/resources", meaning: .path(.own("api/resources")), isOfSite: true),
    ]

    @Test(arguments: cases) func `a text below the address of a proxy has one meaning`(row: Case) throws {
        let meaning: Case.Meaning
        do throws(ProxiedPath.Failure) {
            let path = try ProxiedPath(row.text[...], site: row.isOfSite ? Self.site : nil)
            if case .resource(let url, let key) = path { meaning = .url(url.text, key: key) } else { meaning = .path(path) }
        } catch { meaning = .failure(error) }
        #expect(meaning == row.meaning)
    }

    @Test func `a random path is printed as the text that means it`() throws {
        var random = SeededGenerator.fromEnvironment()
        for _ in 0..<4000 {
            let path = try Self.randomPath(&random), prefix = ["/", "/token/", "http://127.0.0.1:8080/"].randomElement(using: &random)!
            for site in [nil, Self.site] {
                guard let text = path.text(below: prefix, site: site) else {
                    #expect(site != nil, "\(path)")
                    continue
                }
                #expect(text.hasPrefix(prefix) && !text.hasPrefix("//") && !text.hasPrefix("/\\"))
                #expect(try ProxiedPath(text.dropFirst(prefix.count), site: site) == path, "\(text)")
            }
        }
    }

    private static func randomPath(_ random: inout SeededGenerator) throws -> ProxiedPath {
        let characters = Array("abz019/?&=%:@._~!$'()*+,;[]\\|^{}\" é")
        func word(_ most: Int, _ random: inout SeededGenerator) -> String {
            String((0..<Int.random(in: 1...most, using: &random)).map { _ in characters.randomElement(using: &random)! })
        }
        switch Int.random(in: 0..<8, using: &random) {
        case 0: return .page
        case 1: return .own(word(12, &random))
        case let form:
            // The origin is written as the printer writes it: in lower case, without a default port.
            let user = form == 2 ? "al%2Fice:word@" : ""
            let origins = [
                "https://site.example:444", "http://\(user)example.com", "https://\(user)example.com:8443", "http://[2001:db8::1]:81",
            ]
            // A dot segment at the beginning has the meaning of none (RFC 3986 §5.2.4).
            let path = word(30, &random).drop { $0 == "." }
            let url = try MediaURL("\(origins.randomElement(using: &random)!)/\(path)")
            return .resource(url, key: form == 3 ? word(20, &random) : nil)
        }
    }

    @Test(arguments: ["//evil.example/x", "/\\evil.example/x", "///x", "//"])
    func `a path of the site leads to no other host`(path: String) throws {
        let place = try ProxiedPath.resource(MediaURL("https://site.example:444\(path)"))
        #expect(place.text(below: "/", site: Self.site) == "/.\(path)")
        #expect(place.text(below: "http://127.0.0.1/", site: Self.site) == "http://127.0.0.1\(path)")
    }

    @Test func `a resource that a proxy does not serve has no text`() throws {
        let (own, other) = (try MediaURL("https://site.example:444/_spool/x"), try MediaURL("https://other.example/x"))
        for url in [own, other] { #expect(ProxiedPath.resource(url).text(below: "/", site: Self.site) == nil) }
        #expect(ProxiedPath.resource(other, key: "key").text(below: "/", site: Self.site) == nil)
        for key in ["", "a\u{1B}b", String(repeating: "x", count: ProxiedPath.maxKeyBytes + 1)] {
            #expect(ProxiedPath.resource(other, key: key).text(below: "/") == nil)
        }
    }
}
