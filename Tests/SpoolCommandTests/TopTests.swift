import Foundation
import SpoolCommand
import SpoolCore
import SpoolJSON
import SpoolTesting
import Testing

/// `spool top`: its screen as a function, and the command beside a server.
@Suite(.timeLimit(.minutes(20)))
struct TopTests {
    private static func status(storedBytes: Int64 = 250, fetched: Int64 = 1000, sent: String = "", extra: String = "") -> String {
        """
        {"statistics":{"fetchedBytes":\(fetched),"originRequests":3,"bytesFromStore":3000,"bytesFromOrigin":1000,"readers":9,"hitRatio":0.75\(sent)},
         "store":{"resources":2,"bytes":5368709120,"quotaBytes":10737418240,"minimumFreeBytes":null,"freeBytes":null,"writable":true},
         "readers":4,"fetches":1,"activeResources":3,"active":[
         {"key":"http://a.example/film.mp4","length":1000,"storedBytes":\(storedBytes),"stored":[[0,\(storedBytes)]],"readers":1,"fetches":1,"notStored":null},
         {"key":"http://b.example/other.mp4","length":null,"storedBytes":0,"stored":[],"readers":3,"fetches":0,"notStored":"it is \\u001b[2Jlarge"}]\(extra)}
        """
    }

    private static let samples = (
        TopSample(status(), time: 1_000_000_000), TopSample(status(storedBytes: 750, fetched: 5000), time: 3_000_000_000)
    )

    private func screen(_ order: TopScreen.Order = .rate, columns: Int = 160, rows: Int = 20, colors: Bool = false) throws -> [String] {
        let (before, after) = (try #require(Self.samples.0), try #require(Self.samples.1))
        var screen = TopScreen(address: "http://127.0.0.1:8080/", style: TerminalStyle(hasColors: colors))
        screen.order = order
        return screen.lines(after, TopRates(from: before, to: after), columns: columns, rows: rows)
    }

    @Test func `the screen has sums, rates, the store, and the resources in use`() throws {
        let lines = try screen()
        #expect(lines[0].hasPrefix("spool top  http://127.0.0.1:8080/") && lines[0].hasSuffix("sorted by rate   s sorts, q quits"))
        #expect(lines[0].count == 160)
        #expect(lines[1] == "readers 4   fetches 1   hits 75 % of bytes   requests to origins 3")
        #expect(lines[2].hasSuffix("fetched 2.0 KiB/s"), "4000 bytes in 2 seconds: \(lines[2])")
        #expect(lines[3] == "store 5.0 GiB of 10.0 GiB (50 %) in 2 resources")
        #expect(lines[6].contains("250 B/s") && lines[6].contains("75 %") && lines[6].hasSuffix("http://a.example/film.mp4"))
        #expect(lines[7].contains("not stored: it is  [2Jlarge"), "an escape sequence of an origin does not reach the terminal")
        #expect(lines[8] == "and 1 more")
    }

    @Test func `the screen has the rate of what origins sent, where the transport counts it`() throws {
        func lines(_ before: String, _ after: String) throws -> [String] {
            let samples = (try #require(TopSample(before, time: 0)), try #require(TopSample(after, time: 1_000_000_000)))
            return TopScreen(address: "", style: TerminalStyle(hasColors: false))
                .lines(samples.1, TopRates(from: samples.0, to: samples.1), columns: 160, rows: 20)
        }
        func sent(_ bytes: String) -> String { Self.status(sent: ",\"sentByOriginsBytes\":\(bytes)") }
        #expect(try lines(sent("1000"), sent("6120"))[2].hasSuffix("sent by origins 5.0 KiB/s"))
        #expect(try lines(sent("null"), sent("6120"))[2].hasSuffix("fetched 0 B/s"))
    }

    @Test func `the key s goes through all orders`() throws {
        var order = TopScreen.Order.rate
        var names: [String] = []
        for _ in TopScreen.Order.allCases {
            names.append(order.rawValue)
            order = order.next
        }
        #expect(names == ["rate", "readers", "size", "name"] && order == .rate)
        #expect(try screen(.readers)[6].hasSuffix("other.mp4  not stored: it is  [2Jlarge"), "the one with three readers is first")
        #expect(try screen(.size)[6].hasSuffix("film.mp4") && screen(.name)[6].hasSuffix("film.mp4"))
    }

    @Test func `the screen fits every size`() throws {
        for columns in [0, 1, 7, 40, 79, 300] {
            for rows in [0, 1, 2, 5, 8, 24] {
                let lines = try screen(columns: columns, rows: rows)
                #expect(lines.count <= rows)
                #expect(lines.allSatisfy { $0.count <= columns })
            }
        }
    }

    @Test func `colours are there only when they are wanted`() throws {
        #expect(try screen(colors: true).contains { $0.contains("\u{1B}[1m") })
        #expect(try !screen().contains { $0.contains("\u{1B}") })
    }

    @Test func `a server that was started again has no negative rates`() throws {
        let (old, new) = (try #require(TopSample(Self.status(), time: 1)), try #require(TopSample(Self.status(fetched: 10), time: 1)))
        #expect(TopRates(from: old, to: new) == TopRates(), "no time has passed")
        let later = try #require(TopSample(Self.status(storedBytes: 0, fetched: 10), time: 1_000_000_001))
        let screen = TopScreen(address: "", style: TerminalStyle(hasColors: false))
        #expect(!screen.plainLine(later, TopRates(from: old, to: later), at: "").contains("-"))
    }

    @Test(arguments: [
        "", "null", "[]", "{\"statistics\":{}}", "{", "{\"a\":1e999}", String(repeating: "[", count: 100_000),
        "{\"statistics\":{},\"store\":{}} x",
    ])
    func `an answer that is no status is refused`(text: String) {
        #expect(TopSample(text, time: 0) == nil)
    }

    @Test(arguments: ["9e999", "-1", "1.5", "\"x\"", "99999999999999999999", "{}"])
    func `numbers that are no counts do not stop the program`(number: String) throws {
        let text = Self.status().replacingOccurrences(of: "1000", with: number).replacingOccurrences(of: "250", with: number)
        guard let sample = TopSample(text, time: 5) else { return }
        let screen = TopScreen(address: "", style: TerminalStyle(hasColors: false))
        #expect(!screen.lines(sample, TopRates(from: Self.samples.0, to: sample), columns: 80, rows: 24).isEmpty)
    }

    // MARK: Beside a server

    @Test func `top shows the server of the store, as lines and as JSON`() throws {
        let directory = try ScratchDirectory()
        let store = ["SPOOL_CACHE": directory.path("store")]
        let missing = try SpoolProcess.run(["top"], environment: store, in: directory)
        #expect(missing.code == 1 && missing.errors.contains("with --cache"))

        let origin = try RawOrigin()
        defer { origin.stop() }
        let url = origin.url("/a.mp4")
        origin.serve(VirtualResource(url: url, seed: 3, length: 1000))
        let server = try SpoolProcess(
            ["serve", "--listen", "127.0.0.1:0", "--origin", origin.url("")], environment: store, in: directory)
        let base = try #require(server.readLine()).dropFirst("listening on ".count)
        _ = try SpoolProcess.run(["get", "\(base)a.mp4"], environment: ["SPOOL_CACHE": directory.path("other")], in: directory)

        let lines = try SpoolProcess.run(["top", "-n", "2", "-i", "0.1s"], environment: store, in: directory)
        #expect(lines.code == 0 && lines.text.split(separator: "\n").count == 2, "\(lines.errors)")
        #expect(!lines.text.contains("\u{1B}"))
        let json = try SpoolProcess.run(["top", "--json", "-n", "1"], environment: store, in: directory)
        let status = (json.json as? [String: Any])?["status"] as? [String: Any]
        #expect((status?["statistics"] as? [String: Any])?["fetchedBytes"] as? Int == 1000)

        server.send(SIGTERM)
        #expect(try server.end().code == 0)
    }
}
