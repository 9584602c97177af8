import Spool
import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolSystem
import SpoolTesting
import Testing

/// Requests for another body than the resource's: titles inside a radio stream, a place in time, a
/// speed, a difference, and ranges in other units than bytes.
@Suite(.timeLimit(.minutes(20))) struct OtherBodyTests {
    private static let film = VirtualResource.film()
    private static let seek: HTTPFields = [
        "Content-Type": "video/mpeg", "TimeSeekRange.dlna.org": "npt=10.000-20.000/20.000 bytes=5-9/10",
    ]

    /// An origin that knows such requests, and has a film for all others.
    private static let script: OriginScript = { request, _ in
        let isOther = ["TimeSeekRange.dlna.org", "PlaySpeed.dlna.org", "A-IM"].contains { request.fields[HTTPFields.Name($0)] != nil }
        let isOtherUnit = request.fields[.range].map { !$0.hasPrefix("bytes=") } ?? false
        // Servers of DLNA state no bytes in a `Content-Range`.
        if isOther || isOtherUnit { return .status(206, fields: seek, body: Array("after".utf8)) }
        return .fields(["Cache-Control": "max-age=3600"], .correct)
    }

    @Test(
        arguments: [
            ["TimeSeekRange.dlna.org": "npt=10-"], ["timeseekrange.DLNA.ORG": "npt=10-", "Range": "bytes=0-"],
            ["PlaySpeed.dlna.org": "DLNA.ORG_PS=2"], ["A-IM": "vcdiff"], ["Range": "npt=10-20"],
        ] as [HTTPFields], [false, true])
    func `the origin gets the field, its answer is this client's alone, and the resource stays`(asked: HTTPFields, isSite: Bool) throws {
        let world = try ProxyWorld([Self.film], script: Self.script, options: { if isSite { $0.fixedOrigin = VirtualResource.site } })
        defer { world.stop() }
        let target = isSite ? "/film.mp4" : Self.film.target
        for isStored in [false, true] {
            let answer = try world.get(target, asked)
            #expect(answer.status == 206 && answer.text == "after", "stored: \(isStored)")
            #expect(answer["TimeSeekRange.dlna.org"] == Self.seek["TimeSeekRange.dlna.org"])
            #expect(answer["Cache-Status"] == "spool; fwd=bypass; fwd-status=206")
            let sent = world.origin.log.entries.last?.request.fields
            for field in asked.lines { #expect(sent?[HTTPFields.Name(field.name)] == field.value) }
            #expect(try world.get(target).body == Self.film.allBytes)
        }
        #expect(world.origin.log.entries.count == 3, "the film was fetched once")
    }

    @Test func `without a network such a request gets what is stored`() throws {
        let world = try ProxyWorld([Self.film], script: Self.script)
        defer { world.stop() }
        #expect(try world.get(Self.film.target).status == 200)
        world.cache.networkPolicy.isOffline = true
        #expect(try world.get(Self.film.target, ["TimeSeekRange.dlna.org": "npt=10-"]).body == Self.film.allBytes)
        #expect(world.origin.log.entries.count == 1)
    }

    @Test func `a browser that shows a document gets no answer past the rules for documents`() throws {
        var page = VirtualResource.film("page.html")
        page.fields = ["Content-Type": "text/html"]
        let world = try ProxyWorld([page])
        defer { world.stop() }
        let asked: HTTPFields = ["Range": "lines=1-", "Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "none"]
        #expect(try world.get(page.target, asked).status == 403)
    }

    // MARK: Titles

    /// A radio that puts titles between the bytes for those who ask, without naming the field in
    /// `Vary`.
    private static let radio: OriginScript = { request, number in
        let hasTitles = request.fields["Icy-MetaData"] == "1"
        let body = "\(hasTitles ? "titles" : "sound") \(number)"
        let fields: HTTPFields = hasTitles ? ["icy-name": "One", "icy-metaint": "4096"] : ["icy-name": "One"]
        return .unknownLength(.close, .status(200, fields: fields, body: Array(body.utf8)))
    }

    @Test func `a player that asks for titles has them, and no other player gets them`() throws {
        let world = try ProxyWorld(script: Self.radio)
        defer { world.stop() }
        let target = "/http/media.example/radio.mp3"
        let first = try world.get(target, ["Icy-MetaData": "1"])
        #expect(first.text == "titles 0" && first["icy-metaint"] == "4096")
        let plain = try world.get(target)
        #expect(plain.text == "sound 1" && plain["icy-metaint"] == nil)
        // A stream with titles is of one moment, and is never stored.
        #expect(try world.status(of: "http://media.example/radio.mp3")?.stored.ranges.first?.count != 8)
    }

    /// ffmpeg and everything built on it sends the field with each request.
    @Test func `a file without titles is stored for players that ask for them, and played from there`() throws {
        let world = try ProxyWorld([Self.film])
        defer { world.stop() }
        for _ in 1...2 { #expect(try world.get(Self.film.target, ["Icy-MetaData": "1"]).body == Self.film.allBytes) }
        #expect(try world.get(Self.film.target).body == Self.film.allBytes)
        #expect(world.origin.log.entries.count == 1)
    }

    @Test func `players that come together get titles as each of them asked`() throws {
        for round in 1...20 {
            let world = try ProxyWorld(script: Self.radio)
            defer { world.stop() }
            let violations = concurrently(4) { index in
                let text = try world.get("/http/media.example/radio.mp3", index % 2 == 0 ? ["Icy-MetaData": "1"] : [:]).text
                return text.hasPrefix(index % 2 == 0 ? "titles" : "sound") ? [] : ["player \(index) got \(text)"]
            }
            #expect(violations == [], "round \(round)")
        }
    }
}
