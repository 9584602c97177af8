import Spool
import SpoolCore
import SpoolTesting
import Testing

/// URLs with user information (`https://alice:secret@host/`).
@Suite(.timeLimit(.minutes(20))) struct CredentialURLTests {
    private static let alices = VirtualResource(url: "http://alice:s3cret@media.example/film.mp4", seed: 1, length: 1000)
    private static let everybodys = VirtualResource(url: "http://media.example/film.mp4", seed: 2, length: 1000)

    @Test(arguments: StoreKind.allCases) func `a password in a URL reaches the origin, and neither the index nor the page`(store: StoreKind)
        throws
    {
        let world = try ProxyWorld([Self.alices], store: store)
        defer { world.stop() }
        for form in [Self.alices.target, "/?url=http%3A%2F%2Falice%3As3cret%40media.example%2Ffilm.mp4"] {
            #expect(try world.get(form).body == Self.alices.allBytes)
            try world.wait(for: Self.everybodys.url) { $0.isComplete && $0.readers == 0 && $0.fetches == 0 }
            #expect(try world.status(of: Self.everybodys.url)?.url == Self.everybodys.url)
            let listing = try world.get("/_spool/api/resources").text
            #expect(listing.contains("http://media.example/film.mp4") && !listing.contains("s3cret") && !listing.contains("alice"))
        }
        #expect(world.origin.log.entries.map(\.request.url) == [Self.alices.url])
    }

    @Test func `the pages hide a password that an older version stored`() throws {
        #expect("http://alice:s3cret@media.example/a@b?c@d".withoutUserinfo == "http://media.example/a@b?c@d")
        #expect("http://@media.example/".withoutUserinfo == "http://media.example/")
        for plain in ["http://media.example/a@b", "nonsense@", "http://media.example/?x=http://a:b@c/", ""] {
            #expect(plain.withoutUserinfo == plain)
        }
    }

    @Test func `in a shared cache, bytes fetched with one user's password reach no other client`() throws {
        let world = try ProxyWorld([Self.alices, Self.everybodys], configuration: { $0.freshness.isShared = true })
        defer { world.stop() }
        world.gate.hold(afterBytes: 0)
        let alice = try world.connect(), other = try world.connect()
        alice.ask(Self.alices.target)
        world.wait("alice's request reached the origin", until: { world.asked.count == 1 })
        other.ask(Self.everybodys.target)
        // It does not join her fetch.
        world.wait("the other request reached the origin, too", until: { world.asked.count == 2 })
        world.gate.open()
        #expect(try alice.answer().body == Self.alices.allBytes)
        #expect(try other.answer().body == Self.everybodys.allBytes)
        // Her bytes are not stored (RFC 9111 §3.5), the other client's are.
        try world.wait(for: Self.everybodys.url) { $0.isComplete && $0.readers == 0 }
        #expect(try alice.get(Self.alices.target).body == Self.alices.allBytes)
        #expect(try other.get(Self.everybodys.target).body == Self.everybodys.allBytes)
        #expect(world.asked.count == 3)
        #expect(try !world.get("/_spool/api/resources").text.contains("s3cret"))
    }

    @Test func `in a private cache, a password is not part of the resource's identity`() throws {
        let world = try ProxyWorld([Self.alices])
        defer { world.stop() }
        #expect(try world.get(Self.alices.target).body == Self.alices.allBytes)
        try world.wait(for: Self.everybodys.url) { $0.isComplete && $0.readers == 0 && $0.fetches == 0 }
        #expect(try world.get(Self.everybodys.target).body == Self.alices.allBytes)
        #expect(world.asked.count == 1)
    }
}
