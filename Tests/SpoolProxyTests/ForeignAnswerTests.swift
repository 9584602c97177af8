import SpoolCore
import SpoolProxy
import SpoolTesting
import Testing

/// Responses of other origins that a proxy for one site gets by the redirects of that site.
@Suite(.timeLimit(.minutes(20))) struct ForeignAnswerTests {
    private static let site = "http://site.example", evil = "http://evil.example/x.html"
    private static let powers: HTTPFields = [
        "Set-Cookie": "session=evil; Path=/", "Service-Worker-Allowed": "/", "Cache-Control": "max-age=60",
    ]

    private func world(_ type: String = "text/html") throws -> ProxyWorld {
        let origin = DocumentOrigin([
            "\(Self.site)/go/film.mp4": .redirect(to: Self.evil), "\(Self.site)/go": .redirect(to: Self.evil),
            Self.evil: .init("<script>", type: type, fields: Self.powers),
            "\(Self.site)/moved.mp4": .redirect(to: "/own.html"),
            "\(Self.site)/own.html": .init("<script>", type: "text/html", fields: Self.powers),
        ])
        return try ProxyWorld(transport: origin, options: { $0.fixedOrigin = Self.site })
    }

    @Test(arguments: ["text/html", "application/json", "video/mp4"])
    func `what came from another origin has none of the site's rights, cold or stored`(type: String) throws {
        let world = try world(type)
        defer { world.stop() }
        for (path, fields) in [("/go/film.mp4", [:]), ("/go/film.mp4", [:]), ("/go", ["Range": "bytes=0-"])] as [(String, HTTPFields)] {
            let answer = try world.get(path, fields)
            #expect((200...206).contains(answer.status) && answer.text == "<script>")
            #expect(answer["Set-Cookie"] == nil && answer["Service-Worker-Allowed"] == nil && answer["Spool-Final-Origin"] == nil)
            let policy = answer["Content-Security-Policy"] ?? ""
            #expect(policy.contains("default-src 'none'") && policy.contains("sandbox") == (type != "video/mp4"), "\(policy)")
        }
    }

    @Test(arguments: ["document", "iframe", "embed", "script", "worker"])
    func `a browser that shows or runs it gets the redirect, cold or stored`(destination: String) throws {
        let navigation: HTTPFields = ["Sec-Fetch-Site": "none", "Sec-Fetch-Dest": destination, "User-Agent": "Mozilla/5.0"]
        for isStored in [false, true] {
            let world = try world()
            defer { world.stop() }
            if isStored { for _ in 1...2 { #expect(try world.get("/go/film.mp4").status == 200) } }
            for fields in [[:], ["Range": "bytes=0-"], ["Cookie": "sid=1"]] as [HTTPFields] {
                let answer = try world.get("/go/film.mp4", navigation.replacing(with: fields))
                #expect(answer.status == 302 && answer["Location"] == Self.evil && answer["Set-Cookie"] == nil, "\(fields)")
            }
            if isStored { #expect(try world.get("/go/film.mp4").text == "<script>", "the stored bytes stay") }
        }
    }

    @Test func `a redirect within the site keeps its rights`() throws {
        let world = try world()
        defer { world.stop() }
        let answer = try world.get("/moved.mp4")
        #expect(answer.text == "<script>" && answer["Set-Cookie"] == "session=evil; Path=/" && answer["Content-Security-Policy"] == nil)
    }

    @Test func `a general proxy passes no cookie of another origin on as one of the requested origin`() throws {
        let origin = DocumentOrigin([
            "\(Self.site)/go.mp4": .redirect(to: "http://evil.example/x.mp4"),
            "http://evil.example/x.mp4": .init("film", type: "video/mp4", fields: Self.powers),
            "\(Self.site)/own.mp4": .init("film", type: "video/mp4", fields: Self.powers),
        ])
        let world = try ProxyWorld(transport: origin)
        defer { world.stop() }
        #expect(try world.get("/http/site.example/go.mp4")["Set-Cookie"] == nil)
        #expect(try world.get("/http/site.example/own.mp4")["Set-Cookie"] == "session=evil; Path=/http/site.example/")
    }
}
