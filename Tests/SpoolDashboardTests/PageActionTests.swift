import Foundation
import Spool
import SpoolCore
import SpoolDashboard
import SpoolProxy
import SpoolSystem
import SpoolTesting
import Testing

/// The actions of the status page, and the ways in which they are refused.
@Suite(.timeLimit(.minutes(20))) struct PageActionTests {
    /// A proxy with actions, and a browser's two secrets.
    private struct Scene {
        let world: ProxyWorld
        /// The clock of a test that advances it. Jobs need the real one.
        let time = ManualTime()
        var cookie = ""
        var proof = ""

        init(_ films: [VirtualResource] = [], isTimed: Bool = false, options: (inout ProxyOptions) -> Void = { _ in }) throws {
            world = try ProxyWorld(
                films, time: isTimed ? time : SystemTime(),
                options: {
                    $0.programToken = "command"
                    options(&$0)
                })
        }

        var host: String { "127.0.0.1:\(world.port)" }

        /// The fields of a request that the page sends.
        var page: HTTPFields {
            ["Host": host, "Origin": "http://\(host)", "Sec-Fetch-Site": "same-origin", "Cookie": cookie, "Spool-Page": proof]
        }

        func post(_ target: String, _ fields: HTTPFields, method: String = "POST", body: String = "") throws -> ProxyClient.Answer {
            let client = try world.connect()
            var fields = fields
            if method == "POST" { fields["Content-Length"] = String(body.utf8.count) }
            client.ask(target, method: method, fields)
            client.write(body)
            return try client.answer()
        }

        /// Makes a link as `spool login` does, and returns its secret.
        func link(prefix: String = "/") throws -> String {
            let answer = try post("\(prefix)_spool/api/login", ["Authorization": "Bearer command"])
            return try #require(try members(answer)["link"] as? String)
        }

        func members(_ answer: ProxyClient.Answer) throws -> [String: Any] {
            try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
        }

        /// Logs in, and keeps the secrets.
        @discardableResult
        mutating func logIn(page: String = "/_spool/", prefix: String = "/") throws -> ProxyClient.Answer {
            var fields = self.page
            fields["Spool-Link"] = try link(prefix: prefix)
            let answer = try post(page + "page/login", fields)
            #expect(answer.status == 200, "\(answer.text)")
            cookie = String(try #require(answer["Set-Cookie"]).prefix { $0 != ";" })
            proof = try #require(try members(answer)["proof"] as? String)
            return answer
        }

        func act(_ action: String) throws -> ProxyClient.Answer { try post("/_spool/page/\(action)", page) }

        /// The list of jobs, once the newest one is over.
        func endOfJob() throws -> [String: Any] {
            var newest: [String: Any] = [:]
            world.wait("the job ends") {
                guard let answer = try? post("/_spool/page/jobs", page, method: "GET"),
                    let list = try? members(answer)["jobs"] as? [[String: Any]], let first = list.first
                else { return false }
                newest = first
                return ["done", "failed"].contains(first["state"] as? String)
            }
            return newest
        }
    }

    // MARK: Logging in

    @Test func `a link logs in one browser, which gets a cookie out of reach of scripts and other sites`() throws {
        var scene = try Scene()
        defer { scene.world.stop() }
        #expect(try scene.act("pin?key=a").status == 401)
        let answer = try scene.logIn()
        let cookie = try #require(answer["Set-Cookie"])
        for part in ["HttpOnly", "SameSite=Strict", "Path=/_spool/", "Max-Age=43200"] { #expect(cookie.contains("; \(part)"), "\(cookie)") }
        #expect(!cookie.contains("Domain"))
        #expect(!answer.text.contains(scene.cookie.split(separator: "=")[1]), "the script does not get the cookie")
        #expect(try scene.act("pin?key=a").text == #"{"changed":true}"#)
        #expect(try scene.act("logout").status == 200)
        #expect(try scene.act("unpin?key=a").status == 401)
    }

    @Test func `a link counts once, and only for ten minutes`() throws {
        let scene = try Scene(isTimed: true)
        defer { scene.world.stop() }
        var fields = scene.page
        fields["Spool-Link"] = try scene.link()
        #expect(try scene.post("/_spool/page/login", fields).status == 200)
        #expect(try scene.post("/_spool/page/login", fields).status == 401)
        fields["Spool-Link"] = try scene.link()
        scene.time.advance(by: .seconds(601))
        let late = try scene.post("/_spool/page/login", fields)
        #expect(late.status == 401 && late.text.contains("spool login"))
        fields["Spool-Link"] = ""
        #expect(try scene.post("/_spool/page/login", fields).status == 401)
    }

    @Test func `a session ends after twelve hours`() throws {
        var scene = try Scene(isTimed: true)
        defer { scene.world.stop() }
        try scene.logIn()
        scene.time.advance(by: .seconds(12 * 3600 - 1))
        #expect(try scene.act("pin?key=a").status == 200)
        scene.time.advance(by: .seconds(1))
        #expect(try scene.act("pin?key=a").status == 401)
    }

    @Test func `the oldest link and the oldest session make room for new ones`() throws {
        var first = try Scene()
        defer { first.world.stop() }
        let oldLink = try first.link()
        for _ in 0..<8 { _ = try first.link() }
        var fields = first.page
        fields["Spool-Link"] = oldLink
        #expect(try first.post("/_spool/page/login", fields).status == 401)
        try first.logIn()
        var other = first
        for _ in 0..<15 { try other.logIn() }
        #expect(try first.act("pin?key=a").status == 200)
        try other.logIn()
        #expect(try first.act("pin?key=a").status == 401)
        #expect(try other.act("pin?key=b").status == 200)
    }

    @Test func `the cookie covers the pages below the token only`() throws {
        var scene = try Scene(options: { $0.token = "secret" })
        defer { scene.world.stop() }
        let answer = try scene.logIn(page: "/secret/_spool/", prefix: "/secret/")
        #expect(answer["Set-Cookie"]?.contains("; Path=/secret/_spool/;") == true)
        #expect(try scene.post("/secret/_spool/page/pin?key=a", scene.page).status == 200)
        #expect(try scene.post("/_spool/page/pin?key=a", scene.page).status != 200)
    }

    /// Scripts of the site have the origin of the status page, and could read its secrets.
    @Test func `with a fixed origin there is no login and no action`() throws {
        let scene = try Scene(options: { $0.fixedOrigin = "http://media.example" })
        defer { scene.world.stop() }
        let page = try #require(scene.world.pageURL).dropFirst("http://\(scene.host)".count)
        let answer = try scene.post("/_spool/api/login", ["Authorization": "Bearer command"])
        #expect(answer.status == 403)
        #expect(try scene.post("\(page)page/login", scene.page).status != 200)
        #expect(try scene.post("\(page)page/pin?key=a", scene.page).status != 200)
    }

    // MARK: Attacks

    @Test func `a request that the page did not send is refused, although it has both secrets`() throws {
        var scene = try Scene([.film()])
        defer { scene.world.stop() }
        try scene.logIn()
        _ = try scene.world.get(VirtualResource.film().target)
        let wrong: [(String, HTTPFields)] = [
            ("another site", ["Origin": "https://evil.example"]),
            ("another port of this machine", ["Origin": "http://127.0.0.1:1"]),
            ("another name of this machine", ["Origin": "http://localhost:\(scene.world.port)"]),
            ("a sandboxed page", ["Origin": "null"]),
            ("a page of the same site", ["Sec-Fetch-Site": "same-site"]),
            ("a page of another site", ["Sec-Fetch-Site": "cross-site"]),
            ("an address that was typed", ["Sec-Fetch-Site": "none"]),
            ("a rebound name", ["Host": "evil.example:\(scene.world.port)", "Origin": "http://evil.example:\(scene.world.port)"]),
            ("an unspecified address", ["Host": "0.0.0.0:\(scene.world.port)", "Origin": "http://0.0.0.0:\(scene.world.port)"]),
        ]
        for (name, change) in wrong {
            var fields = scene.page
            for field in change.lines { fields[HTTPFields.Name(field.name)] = field.value }
            let answer = try scene.post("/_spool/page/remove?key=\(VirtualResource.film().url)", fields)
            #expect([403, 405, 421].contains(answer.status), "\(name): \(answer.status) \(answer.text)")
            #expect(answer["Access-Control-Allow-Origin"] == nil, "\(name)")
        }
        var silent = scene.page
        silent["Origin"] = nil
        #expect(try scene.post("/_spool/page/remove?key=\(VirtualResource.film().url)", silent).status == 403)
        #expect(try scene.world.status(of: VirtualResource.film().url) != nil)
    }

    @Test func `one of the two secrets is not enough, and neither is the command token`() throws {
        var scene = try Scene()
        defer { scene.world.stop() }
        try scene.logIn()
        let name = scene.cookie.prefix { $0 != "=" }
        let wrong: [HTTPFields] = [
            ["Cookie": ""], ["Cookie": "\(name)="], ["Cookie": "\(name)=\(String(repeating: "0", count: 32))"],
            ["Cookie": "\(name)x=\(scene.cookie.dropFirst(name.utf8.count + 1))"], ["Cookie": String(scene.cookie.dropLast())],
            ["Spool-Page": ""], ["Spool-Page": String(repeating: "0", count: 32)], ["Spool-Page": scene.proof + "0"],
        ]
        for change in wrong {
            var fields = scene.page
            for field in change.lines { fields[HTTPFields.Name(field.name)] = field.value }
            #expect(try scene.post("/_spool/page/pin?key=a", fields).status == 401, "\(change)")
        }
        let command: HTTPFields = ["Authorization": "Bearer command", "Origin": "http://\(scene.host)", "Host": scene.host]
        #expect(try scene.post("/_spool/page/pin?key=a", command).status == 401)
        // The session is no command token either.
        var program = scene.page
        program["Authorization"] = "Bearer \(scene.proof)"
        #expect(try scene.post("/_spool/api/pin?key=a", program).status == 403)
    }

    @Test func `a form, a body and a preflight change nothing`() throws {
        var scene = try Scene()
        defer { scene.world.stop() }
        try scene.logIn()
        var form = scene.page
        form["Content-Type"] = "application/x-www-form-urlencoded"
        #expect(try scene.post("/_spool/page/pin", form, body: "key=a").status == 413)
        // A form of another site has neither the field nor, with `SameSite=Strict`, the cookie.
        form["Spool-Page"] = nil
        #expect(try scene.post("/_spool/page/pin?key=a", form).status == 401)
        let client = try scene.world.connect()
        client.ask("/_spool/page/pin?key=a", method: "POST", scene.page.with("Content-Length", "1000000"))
        #expect(try client.answer().status == 413)
        let preflight = try scene.post("/_spool/page/pin", ["Origin": "https://evil.example", "Host": scene.host], method: "OPTIONS")
        #expect(preflight.status == 405 && preflight["Access-Control-Allow-Origin"] == nil)
        #expect(try scene.post("/_spool/page/pin?key=a", scene.page, method: "GET").status == 404)
        #expect(try scene.act("unpin?key=a").text == #"{"changed":false}"#)
    }

    @Test func `a page can't import, adopt or name a path`() throws {
        var scene = try Scene()
        defer { scene.world.stop() }
        try scene.logIn()
        for action in ["import?path=/etc/passwd&url=http://a.example/a", "adopt?path=/tmp", "login-all", "repair?key=a"] {
            #expect(try scene.act(action).status == 404, "\(action)")
        }
        #expect(try scene.act("fetch?url=file:///etc/passwd").status == 403)
        #expect(try scene.act("pin").status == 400)
        #expect(try scene.act("pause?id=x").status == 400)
        #expect(try scene.act("cancel?id=7").status == 404)
    }

    @Test func `a proxy without a command token has no actions`() throws {
        let world = try ProxyWorld()
        defer { world.stop() }
        let client = try world.connect()
        client.ask("/_spool/page/login", method: "POST", ["Content-Length": "0", "Spool-Link": ""])
        #expect(try client.answer().status == 405)
        #expect(try world.get("/_spool/page/jobs").status == 404)
    }

    // MARK: Actions

    @Test func `pin, remove and their opposites show in the listing`() throws {
        let film = VirtualResource.film()
        var scene = try Scene([film])
        defer { scene.world.stop() }
        try scene.logIn()
        _ = try scene.world.get(film.target)
        try scene.world.wait(for: film.url) { $0.isComplete }
        func resources() throws -> [[String: Any]] {
            try #require(try scene.members(scene.world.get("/_spool/api/resources"))["resources"] as? [[String: Any]])
        }
        #expect(try scene.act("pin?key=\(film.url)").text == #"{"changed":true}"#)
        #expect(try resources().first?["pinned"] as? Bool == true)
        #expect(try scene.act("pin?key=\(film.url)").text == #"{"changed":false}"#)
        #expect(try scene.act("unpin?key=\(film.url)").text == #"{"changed":true}"#)
        #expect(try resources().first?["pinned"] as? Bool == false)
        #expect(try scene.act("remove?key=\(film.url)").text == #"{"removed":1,"bytes":100000}"#)
        #expect(try resources().isEmpty)
        #expect(try scene.act("remove?key=\(film.url)").text == #"{"removed":0,"bytes":0}"#)
    }

    @Test func `fetch completes a resource and a URL, and verify finds it sound`() throws {
        let films = [VirtualResource.film(), .film("b.mp4", seed: 2)]
        var scene = try Scene(films)
        defer { scene.world.stop() }
        try scene.logIn()
        _ = try scene.world.get(films[0].target, ["Range": "bytes=0-9"])
        #expect(try scene.act("fetch?key=\(films[0].url)").status == 200)
        var job = try scene.endOfJob()
        #expect(job["state"] as? String == "done" && job["action"] as? String == "fetch", "\(job)")
        #expect(try scene.act("fetch?url=\(films[1].url)").status == 200)
        job = try scene.endOfJob()
        #expect(job["state"] as? String == "done" && job["key"] as? String == films[1].url, "\(job)")
        for film in films { try scene.world.wait(for: film.url) { $0.isComplete } }
        #expect(try scene.act("verify?key=\(films[0].url)").status == 200)
        job = try scene.endOfJob()
        #expect(job["text"] as? String == "all 100000 checked bytes are sound" || job["state"] as? String == "done", "\(job)")
        #expect(try scene.act("preload?key=none").status == 404)
    }

    @Test func `a fetch is paused, resumed and cancelled`() throws {
        let film = VirtualResource.film(length: 1 << 20)
        var scene = try Scene([film])
        defer { scene.world.stop() }
        try scene.logIn()
        scene.world.gate.hold(afterBytes: 65_536)
        let id = try #require(try scene.members(scene.act("fetch?url=\(film.url)"))["job"] as? Int)
        func state() throws -> String? {
            let list = try scene.members(scene.post("/_spool/page/jobs", scene.page, method: "GET"))["jobs"] as? [[String: Any]]
            return list?.first?["state"] as? String
        }
        #expect(try state() == "running")
        #expect(try scene.act("pause?id=\(id)").status == 200)
        #expect(try state() == "paused")
        #expect(try scene.act("resume?id=\(id)").status == 200)
        #expect(try state() == "running")
        #expect(try scene.act("cancel?id=\(id)").status == 200)
        #expect(try scene.endOfJob()["text"] as? String == "cancelled; what was fetched stays")
        scene.world.gate.open()
    }

    @Test func `at most sixteen actions run at once`() throws {
        let films = (0..<17).map { VirtualResource.film("\($0).mp4", seed: UInt64($0), length: 1 << 20) }
        var scene = try Scene(films)
        defer { scene.world.stop() }
        try scene.logIn()
        scene.world.gate.hold(afterBytes: 0)
        for film in films.prefix(16) { #expect(try scene.act("fetch?url=\(film.url)").status == 200) }
        #expect(try scene.act("fetch?url=\(films[16].url)").status == 503)
        #expect(try scene.act("cancel?id=1").status == 200)
        #expect(try scene.act("fetch?url=\(films[16].url)").status == 200)
        scene.world.gate.open()
    }

    @Test func `only origins that the proxy may ask are fetched`() throws {
        var scene = try Scene(options: { $0.allowedOrigins = ["http://media.example"] })
        defer { scene.world.stop() }
        try scene.logIn()
        #expect(try scene.act("fetch?url=http://other.example/a.mp4").status == 403)
    }

    @Test func `the page of a browser that has logged in shows, pauses and resumes downloads`() throws {
        var scene = try Scene([.film()])
        defer { scene.world.stop() }
        #expect(try scene.post("/_spool/page/downloads", scene.page, method: "GET").status == 401)
        try scene.logIn()
        let url = "http%3A%2F%2Fmedia.example%2Ffilm.mp4"
        let added = try scene.post("/_spool/api/download-add?url=\(url)", ["Authorization": "Bearer command"])
        #expect(added.text == #"{"changed":true}"#)
        #expect(try scene.act("download-pause?key=\(url)").text == #"{"changed":true}"#)
        let answer = try scene.post("/_spool/page/downloads", scene.page, method: "GET")
        let downloads = try #require(try scene.members(answer)["downloads"] as? [[String: Any]])
        #expect(downloads.count == 1 && downloads.first?["state"] as? String == "paused")
        #expect(try scene.act("download-resume?key=\(url)").text == #"{"changed":true}"#)
        #expect(try scene.act("download-add?url=\(url)").status == 404, "programs only")
    }

    // MARK: The documented API

    @Test func `the OpenAPI file describes exactly the routes for scripts`() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("docs/openapi.json")
        let document = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
        let paths = try #require(document["paths"] as? [String: [String: [String: Any]]])
        var described: Set<OwnRoute> = []
        for (path, operations) in paths {
            for (method, operation) in operations {
                let parameters = (operation["parameters"] as? [[String: Any]] ?? []).filter { $0["in"] as? String == "query" }
                let route = OwnRoute(
                    method: method.uppercased(), path: String(path.dropFirst("/_spool/".count)),
                    parameters: Set(parameters.compactMap { $0["name"] as? String }))
                described.insert(route)
                #expect(operation["summary"] is String && operation["responses"] is [String: Any], "\(route)")
            }
        }
        #expect(described.subtracting(OwnRoute.documented) == [], "described, and not for scripts")
        #expect(OwnRoute.documented.subtracting(described) == [], "for scripts, and not described")
        let components = try #require(document["components"] as? [String: [String: Any]])
        let refusal = try #require(components["schemas"]?["Refusal"] as? [String: Any])
        let members = try #require(refusal["properties"] as? [String: [String: Any]])
        #expect(members["code"]?["enum"] as? [String] == RefusalCode.allCases.map(\.rawValue))
    }

    @Test func `each refusal has a code beside its sentence`() throws {
        var scene = try Scene()
        defer { scene.world.stop() }
        try scene.logIn()
        let page = scene.page
        let cases: [(verb: String, query: String, fields: HTTPFields, status: Int, code: RefusalCode)] = [
            ("pin", "", page, 400, .invalidQuery), ("pause", "id=99", page, 404, .unknownJob),
            ("paint", "", page, 404, .unknownAction), ("fetch", "key=nothing", page, 404, .notStored),
            ("pin", "key=x", page.with("Origin", "http://evil.example"), 403, .notThePage),
            ("pin", "key=x", page.with("Spool-Page", "0"), 401, .notLoggedIn),
        ]
        for test in cases {
            let answer = try scene.post("/_spool/page/\(test.verb)?\(test.query)", test.fields)
            let members = try scene.members(answer)
            #expect(answer.status == test.status && members["code"] as? String == test.code.rawValue, "\(test.verb): \(answer.text)")
            #expect((members["error"] as? String)?.isEmpty == false)
        }
    }
}

extension HTTPFields {
    fileprivate func with(_ name: HTTPFields.Name, _ value: String) -> HTTPFields {
        var fields = self
        fields[name] = value
        return fields
    }
}
