import Spool
import SpoolCore
import SpoolDashboard
import SpoolProxy
import SpoolTesting
import Testing

/// Commands at `/_spool/api/`, for callers that can read the server's file, and for no browser.
@Suite(.timeLimit(.minutes(20))) struct AdminAPITests {
    private func world() throws -> ProxyWorld { try ProxyWorld(options: { $0.programToken = "command" }) }

    private func post(_ client: ProxyClient, _ target: String, _ fields: HTTPFields) throws -> ProxyClient.Answer {
        var fields = fields
        fields["Content-Length"] = "0"
        client.ask(target, method: "POST", fields)
        return try client.answer()
    }

    @Test func `a command needs the token and is refused from a browser`() throws {
        let world = try world()
        defer { world.stop() }
        let refused: [HTTPFields] = [
            [:], ["Authorization": "Bearer other"], ["Authorization": "command"],
            ["Authorization": "Bearer command", "Origin": "https://evil.example"],
            ["Authorization": "Bearer command", "Origin": "http://127.0.0.1"],
            ["Authorization": "Bearer command", "Sec-Fetch-Site": "same-origin"],
        ]
        for fields in refused {
            let answer = try post(world.connect(), "/_spool/api/erase-everything", fields)
            #expect(answer.status == 403, "\(fields): \(answer.text)")
            #expect(answer["X-Content-Type-Options"] == "nosniff", "\(fields)")
        }
        let done = try post(world.connect(), "/_spool/api/erase-everything", ["Authorization": "Bearer command"])
        #expect(done.status == 200 && done.text == #"{"removed":0,"bytes":0,"kept":0,"keptBytes":0}"#)
        #expect(done["X-Content-Type-Options"] == "nosniff")
    }

    @Test func `clear keeps pinned resources and counts them, and erase-everything takes them`() throws {
        let (film, song) = (VirtualResource.film(), VirtualResource.film("song.mp4", seed: 2))
        let world = try ProxyWorld([film, song], options: { $0.programToken = "command" })
        defer { world.stop() }
        let fields: HTTPFields = ["Authorization": "Bearer command"]
        for resource in [film, song] {
            _ = try world.get(resource.target)
            try world.wait(for: resource.url) { $0.isComplete && $0.fetches == 0 }
        }
        _ = try post(world.connect(), "/_spool/api/pin?key=\(film.url)", fields)
        let cleared = try post(world.connect(), "/_spool/api/clear", fields)
        #expect(cleared.text.hasPrefix(#"{"removed":1,"bytes":"#) && cleared.text.contains(#""kept":1,"keptBytes":"#), "\(cleared.text)")
        #expect(try post(world.connect(), "/_spool/api/erase-everything", fields).text.hasPrefix(#"{"removed":1,"bytes":"#))
        #expect(try post(world.connect(), "/_spool/api/clear", fields).text == #"{"removed":0,"bytes":0,"kept":0,"keptBytes":0}"#)
        let earlier = try post(world.connect(), "/_spool/api/remove-all", fields)
        #expect(earlier.status == 404, "an earlier program removes nothing by mistake")
    }

    @Test func `an unknown command and a missing key are refused`() throws {
        let world = try world()
        defer { world.stop() }
        let fields: HTTPFields = ["Authorization": "Bearer command"]
        #expect(try post(world.connect(), "/_spool/api/nothing", fields).status == 404)
        #expect(try post(world.connect(), "/_spool/", fields).status == 404)
        #expect(try post(world.connect(), "/_spool/api/remove", fields).status == 400)
        #expect(try post(world.connect(), "/_spool/api/remove?key=none", fields).text == #"{"removed":0,"bytes":0}"#)
    }

    @Test func `a key is pinned and unpinned, each once`() throws {
        let world = try world()
        defer { world.stop() }
        let fields: HTTPFields = ["Authorization": "Bearer command"]
        for (verb, changed) in [("pin", true), ("pin", false), ("unpin", true), ("unpin", false)] {
            #expect(try post(world.connect(), "/_spool/api/\(verb)?key=song", fields).text == "{\"changed\":\(changed)}")
        }
        #expect(try post(world.connect(), "/_spool/api/pin", fields).status == 400)
    }

    @Test func `the API returns the reason why a resource is not stored`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld(
            [film], script: { _, _ in .fields(["Cache-Control": "no-store"], .correct) }, options: { $0.programToken = "command" })
        defer { world.stop() }
        let fields: HTTPFields = ["Authorization": "Bearer command"]
        func reason() throws -> String { try post(world.connect(), "/_spool/api/not-stored?key=\(film.url)", fields).text }
        #expect(try reason() == #"{"because":""}"#)
        #expect(try world.get(film.target).body == film.allBytes)
        // Its head goes with its last reader, and the reason stays.
        world.wait("nothing of it is left", until: { (try? world.status(of: film.url)) == nil })
        #expect(try reason() == #"{"because":"the origin forbids it (Cache-Control: no-store)"}"#)
        #expect(try post(world.connect(), "/_spool/api/not-stored", fields).status == 400)
    }

    @Test func `a program follows a job to its end and reads the outcome once`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film], options: { $0.programToken = "command" })
        defer { world.stop() }
        let fields: HTTPFields = ["Authorization": "Bearer command"]
        #expect(try world.get(film.target).body == film.allBytes)
        try world.wait(for: film.url) { $0.isComplete && $0.fetches == 0 }
        #expect(try post(world.connect(), "/_spool/api/verify?key=\(film.url)", fields).text == #"{"job":1}"#)
        let end = try post(world.connect(), "/_spool/api/job?id=1&after=0", fields)
        #expect(end.text.hasPrefix(#"{"running":0,"done":"#) && end.text.contains(#""damaged":[],"repaired":false"#), "\(end.text)")
        #expect(try post(world.connect(), "/_spool/api/job?id=1&after=0", fields).status == 404)
        #expect(try post(world.connect(), "/_spool/api/cancel?id=1", fields).status == 404)
        // These are for the page alone.
        for verb in ["fetch", "preload", "pause", "resume"] {
            #expect(try post(world.connect(), "/_spool/api/\(verb)?url=\(film.url)&id=1", fields).status == 404, "\(verb)")
        }
    }

    @Test func `without a command token every command is refused`() throws {
        let world = try ProxyWorld()
        defer { world.stop() }
        #expect(try post(world.connect(), "/_spool/api/clear", ["Authorization": "Bearer "]).status == 405)
    }
}
