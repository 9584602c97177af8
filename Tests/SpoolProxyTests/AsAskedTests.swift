import Spool
import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolTesting
import Testing

/// An origin that refuses the request that Spool made of the client's gets the client's own.
@Suite(.timeLimit(.minutes(20))) struct AsAskedTests {
    private static let film = VirtualResource.film()
    private static let repeated = [400, 403, 404, 405, 406, 416, 500, 501]

    /// The ranges of the requests that the origin got.
    private func ranges(_ world: ProxyWorld) -> [String?] { world.origin.log.entries.map { $0.request.fields["Range"] } }

    @Test(arguments: repeated)
    func `a file whose origin refuses ranges is served whole, and the next one at once`(status: Int) throws {
        let other = VirtualResource.film("other.mp4", seed: 2)
        let world = try ProxyWorld(
            [Self.film, other], repeatsAsAsked: true,
            script: { request, _ in request.fields[.range] == nil ? .correct : .status(status, body: [1]) })
        defer { world.stop() }
        let answer = try world.get(Self.film.target)
        #expect(answer.status == 200 && answer.body == Self.film.allBytes)
        #expect(ranges(world) == ["bytes=0-", nil])
        #expect(try world.get(other.target).body == other.allBytes)
        #expect(ranges(world) == ["bytes=0-", nil, nil], "the habit of the host is remembered")
    }

    @Test(arguments: repeated.filter { $0 != 416 } + [401, 410, 425, 429, 502, 503, 504])
    func `a refusal that the client's own request gets as well is the answer`(status: Int) throws {
        let world = try ProxyWorld([Self.film], repeatsAsAsked: true, script: { _, _ in .status(status, body: Array("no".utf8)) })
        defer { world.stop() }
        let answer = try world.get(Self.film.target)
        #expect(answer.status == status && answer.text == "no")
        #expect(ranges(world).count == (Self.repeated.contains(status) ? 2 : 1))
    }

    @Test func `a refusal with Retry-After, and one of the client's own range, are not asked again`() throws {
        let world = try ProxyWorld(
            [Self.film], repeatsAsAsked: true,
            script: { request, _ in .status(403, fields: request.fields[.range] == "bytes=0-" ? ["Retry-After": "9"] : [:]) })
        defer { world.stop() }
        #expect(try world.get(Self.film.target).status == 403)
        #expect(try world.get(Self.film.target, ["Range": "bytes=5000-5999"]).status == 403)
        #expect(ranges(world) == ["bytes=0-", "bytes=5000-5999"])
    }

    @Test func `an origin that refuses open ranges gets the client's bounded one`() throws {
        let world = try ProxyWorld(
            [Self.film], repeatsAsAsked: true,
            script: { request, _ in request.fields[.range]?.hasSuffix("-") == true ? .status(403) : .correct })
        defer { world.stop() }
        let answer = try world.get(Self.film.target, ["Range": "bytes=0-1023"])
        #expect(answer.status == 206 && answer.body == Self.film.bytes(0..<1_024))
        #expect(answer["Content-Range"] == "bytes 0-1023/100000")
        #expect(ranges(world).prefix(2) == ["bytes=0-", "bytes=0-1023"])
    }

    @Test func `an origin that refuses open ranges gets no open one for the last bytes, or to confirm a version`() throws {
        let film = VirtualResource(url: Self.film.url, seed: 1, length: 100_000, fields: ["Cache-Control": "max-age=0"])
        let world = try ProxyWorld(
            [film], repeatsAsAsked: true,
            script: { request, _ in request.fields[.range]?.hasSuffix("-") == true ? .status(403) : .correct },
            configuration: { $0.freshness.policy = .standard })
        defer { world.stop() }
        for range in [0..<1_000, 1_000..<20_000, 0..<30_000, 60_000..<100_000, 5..<6] {
            let answer = try world.get(film.target, ["Range": "bytes=\(range.lowerBound)-\(range.upperBound - 1)"])
            #expect(answer.status == 206 && answer.body == film.bytes(range.lowerBound..<range.upperBound), "\(range)")
        }
        #expect(ranges(world).filter { $0?.hasSuffix("-") == true } == ["bytes=0-"])
    }

    @Test func `a part of a length that the origin does not know is not the whole for which the client asked`() throws {
        let film = Self.film
        let world = try ProxyWorld(
            [film], repeatsAsAsked: true,
            script: { request, _ in
                guard request.fields[.range] == "bytes=0-" else { return .correct }
                return .status(206, fields: ["Content-Range": "bytes 0-9999/*"], body: film.bytes(0..<10_000))
            })
        defer { world.stop() }
        let answer = try world.get(film.target)
        #expect(answer.status == 200 && answer.body == film.allBytes)
        #expect(ranges(world) == ["bytes=0-", nil])
    }

    @Test func `a signed URL is asked as the client asked from the start`() throws {
        let signed = VirtualResource.film("film.mp4?X-Amz-Signature=1&X-Amz-SignedHeaders=host%3Brange")
        let world = try ProxyWorld(
            [signed], repeatsAsAsked: true,
            script: { request, _ in request.fields[.range] == "bytes=0-1023" ? .correct : .status(403) })
        defer { world.stop() }
        let answer = try world.get(signed.target, ["Range": "bytes=0-1023"])
        #expect(answer.status == 206 && answer.body == signed.bytes(0..<1_024))
        #expect(ranges(world).first == "bytes=0-1023")
    }

    @Test func `a seek in a signed URL is one request, which may begin before the expiry and end after it`() throws {
        let signed = VirtualResource.film("film.mp4?expires=1", length: 5_000_000), plain = VirtualResource.film(length: 5_000_000)
        let world = try ProxyWorld([signed, plain], repeatsAsAsked: true)
        defer { world.stop() }
        for film in [signed, plain] {
            #expect(try world.get(film.target, ["Range": "bytes=0-1023"]).body == film.bytes(0..<1_024))
            #expect(try world.get(film.target, ["Range": "bytes=1000000-"]).body == film.bytes(1_000_000..<5_000_000))
        }
        let asked = world.origin.log.entries.filter { $0.request.url == signed.url }.map(\.range)
        #expect(asked == ["bytes=0-1023", "bytes=1000000-"])
        #expect(ranges(world).contains { $0 == "bytes=0-" }, "the form of a signed request says nothing about its host")
    }

    @Test(arguments: [412, 400, 403, 501])
    func `an origin that refuses If-Range is asked by the range alone`(status: Int) throws {
        let world = try ProxyWorld(
            [Self.film], repeatsAsAsked: true, script: { request, _ in request.fields[.ifRange] == nil ? .correct : .status(status) })
        defer { world.stop() }
        #expect(try world.get(Self.film.target, ["Range": "bytes=1000-1999"]).body == Self.film.bytes(1_000..<2_000))
        let answer = try world.get(Self.film.target, ["Range": "bytes=50000-59999"])
        #expect(answer.status == 206 && answer.body == Self.film.bytes(50_000..<60_000))
    }

    @Test(arguments: [412, 403, 501])
    func `a part without a validator is the answer of an origin that refuses If-Range, and joins no stored byte`(status: Int) throws {
        let other = VirtualResource.film(seed: 2)
        let world = try ProxyWorld(
            [Self.film], repeatsAsAsked: true,
            script: { request, _ in
                guard request.fields[.ifRange] == nil else { return .status(status) }
                guard request.fields[.range]?.hasPrefix("bytes=50000-") == true else { return .correct }
                return .status(206, fields: ["Content-Range": "bytes 50000-59999/100000"], body: other.bytes(50_000..<60_000))
            })
        defer { world.stop() }
        #expect(try world.get(Self.film.target, ["Range": "bytes=1000-1999"]).body == Self.film.bytes(1_000..<2_000))
        for _ in 0..<2 {
            let answer = try world.get(Self.film.target, ["Range": "bytes=50000-59999"])
            #expect(answer.status == 206 && answer.body == other.bytes(50_000..<60_000))
            #expect(answer["Content-Range"] == "bytes 50000-59999/100000" && answer["ETag"] == nil)
        }
    }

    @Test func `a manifest is asked for without a range`() throws {
        let url = "https://origin.example/a.m3u8"
        let origin = DocumentOrigin([url: .init("#EXTM3U\n#EXTINF:4,\n/a.ts\n#EXT-X-ENDLIST\n")])
        let world = try ProxyWorld(transport: origin)
        defer { world.stop() }
        #expect(try world.get("/https/origin.example/a.m3u8", ["Range": "bytes=0-"]).status == 206)
        #expect(origin.asked.map { $0.fields["Range"] } == [nil])
    }

    @Test func `a part of a manifest that states no length is asked for without a range`() throws {
        let url = "https://origin.example/list.php"
        var document = DocumentOrigin.Document("#EXTM3U\n#EXTINF:4,\n/a.ts\n#EXT-X-ENDLIST\n")
        document.hasLength = false
        let origin = DocumentOrigin([url: document])
        let world = try ProxyWorld(transport: origin)
        defer { world.stop() }
        #expect(try world.get("/https/origin.example/list.php").status == 200)
        document.body = Array("#EXTM3U\n#EXTINF:4,\n/b.ts\n#EXT-X-ENDLIST\n".utf8)
        origin[url] = document
        #expect(try world.get("/https/origin.example/list.php", ["Cache-Control": "no-cache"]).text.contains("/b.ts"))
        #expect(origin.asked.map { $0.fields["Range"] } == ["bytes=0-", nil, nil])
    }

    @Test(arguments: [201, 202, 203, 226, 299])
    func `a success with another status is passed on with its body`(status: Int) throws {
        let world = try ProxyWorld([Self.film], repeatsAsAsked: true, script: { _, _ in .status(status, body: Array("song".utf8)) })
        defer { world.stop() }
        let answer = try world.get(Self.film.target)
        #expect(answer.status == status && answer.text == "song")
    }
}
