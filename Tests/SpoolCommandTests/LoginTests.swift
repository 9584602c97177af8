import Foundation
import SpoolSystem
import Testing

/// `spool login`, and the switches of the demo's origin.
@Suite(.timeLimit(.minutes(20)))
struct LoginTests {
    private let directory: ScratchDirectory

    init() throws { directory = try ScratchDirectory() }

    /// Sends a request with fields, and returns its status and text. The status is 0 if nothing
    /// listens.
    private func ask(_ address: String, _ method: String = "GET", _ fields: [String: String] = [:]) throws -> (status: Int, text: String) {
        let url = try #require(URL(string: address))
        let port = try #require(url.port.flatMap(UInt16.init))
        let target = url.path + (url.query.map { "?\($0)" } ?? "")
        let lines =
            ["\(method) \(target) HTTP/1.1", "Host: 127.0.0.1:\(port)", "Connection: close", "Content-Length: 0"]
            + fields.map { "\($0.key): \($0.value)" }
        do throws(SystemError) {
            let answer = try LoopbackHTTPClient.perform(lines.joined(separator: "\r\n") + "\r\n\r\n", host: "127.0.0.1", port: port)
            let status = answer.split(separator: " ", maxSplits: 2).dropFirst().first.flatMap { Int($0) } ?? 0
            return (status, answer.range(of: "\r\n\r\n").map { String(answer[$0.upperBound...]) } ?? "")
        } catch {
            return (0, "\(error)")
        }
    }

    @Test func `login prints a link to the page of the running server, and its secret logs in once`() throws {
        let server = try SpoolProcess(
            ["serve", "--listen", "127.0.0.1:0", "--token", "players", "--cache", directory.path("store")], in: directory)
        #expect(server.readLine()?.hasPrefix("listening on") == true)
        let outcome = try SpoolProcess.run(["login", "--cache", directory.path("store")], in: directory)
        #expect(outcome.code == 0, "\(outcome.errors)")
        let parts = outcome.text.dropLast().components(separatedBy: "#login=")
        #expect(parts.count == 2 && parts[0].hasPrefix("http://127.0.0.1:") && parts[0].hasSuffix("/players/_spool/"), "\(outcome.text)")
        #expect(parts.last?.count == 32)
        let origin = parts[0].replacingOccurrences(of: "/players/_spool/", with: "")
        let fields = ["Origin": origin, "Spool-Link": parts[1]]
        #expect(try ask(parts[0] + "page/login", "POST", fields).status == 200)
        #expect(try ask(parts[0] + "page/login", "POST", fields).status == 401)
        let json = try SpoolProcess.run(["login", "--json", "--cache", directory.path("store")], in: directory).json as? [String: String]
        #expect(json?["link"]?.hasPrefix(parts[0] + "#login=") == true)
        server.send(SIGTERM)
        #expect(try server.end().code == 0)
    }

    /// The scrapes of a monitor ended with each restart.
    @Test func `the page of a site keeps its secret over a restart, and each store has its own`() throws {
        func secret(of store: String) throws -> String {
            let site = ["--origin", "http://127.0.0.1:9"]
            let server = try SpoolProcess(["serve", "--listen", "127.0.0.1:0", "--cache", directory.path(store)] + site, in: directory)
            _ = try #require(server.readLine())
            let data = try Data(contentsOf: directory.url.appendingPathComponent("\(store)/serve.json"))
            server.send(SIGTERM)
            #expect(try server.end().code == 0)
            let page = (try JSONSerialization.jsonObject(with: data) as? [String: Any])?["page"] as? String
            return String(try #require(page?.split(separator: "/").last))
        }
        let first = try secret(of: "store")
        #expect(first.count == 32)
        #expect(try secret(of: "store") == first)
        #expect(try secret(of: "another") != first)
    }

    @Test func `login without a server says how to start one`() throws {
        let outcome = try SpoolProcess.run(["login", "--cache", directory.path("store")], in: directory)
        #expect(outcome.code != 0 && outcome.output.isEmpty)
        #expect(outcome.errors.contains("spool serve") && outcome.errors.contains("--cache"), "\(outcome.errors)")
    }

    @Test func `the demo's switches stop its origin, make it answer wrongly and let it work again`() throws {
        let demo = try SpoolProcess(
            ["demo", "--listen", "127.0.0.1:0", "--cache", directory.path("store"), "--rate", "0", "--seconds", "1"], in: directory)
        let base = try #require(demo.readLine()).dropFirst("listening on ".count)
        let listing = try ask(base + "_spool/api/resources").text
        let members = try #require(try JSONSerialization.jsonObject(with: Data(listing.utf8)) as? [String: Any])
        let switches = try #require(members["demoSwitches"] as? String)
        let track = try #require((members["demo"] as? [[String: Any]])?.first?["play"] as? String)
        // The proxy's path contains the origin's address: /http/127.0.0.1:PORT/name.
        let file = "http://" + track.dropFirst("/http/".count)
        let page = ["Origin": String(base.dropLast()), "Spool-Demo": "1"]
        #expect(try ask(file).status == 200)
        #expect(try ask(switches + "/", "GET", page).text == #"{"stopped":false,"slow":false,"wrong":false}"#)
        for wrong in [["Origin": "https://evil.example", "Spool-Demo": "1"], ["Spool-Demo": "1"], ["Origin": String(base.dropLast())]] {
            #expect(try ask(switches + "/stopped?on=1", "POST", wrong).status == 403, "\(wrong)")
        }
        #expect(try ask(switches + "/other?on=1", "POST", page).status == 404)

        #expect(try ask(switches + "/stopped?on=1", "POST", page).text.contains(#""stopped":true"#))
        #expect(try ask(file).status == 0, "nothing listens")
        #expect(try ask(switches + "/stopped?on=0", "POST", page).text.contains(#""stopped":false"#))
        #expect(try ask(file).status == 200)
        #expect(try ask(switches + "/wrong?on=1", "POST", page).text.contains(#""wrong":true"#))
        #expect(try ask(file).text.contains("Sign in"))
        #expect(try ask(switches + "/wrong?on=0", "POST", page).status == 200)
        #expect(try !ask(file).text.contains("Sign in"))

        let link = try SpoolProcess.run(["login", "--cache", directory.path("store")], in: directory)
        #expect(link.text.hasPrefix(base + "_spool/#login="), "\(link.errors)")
        demo.send(SIGINT)
        #expect(try demo.end().code == 0)
        #expect(!FileManager.default.fileExists(atPath: directory.path("store/serve.json")))
    }
}
