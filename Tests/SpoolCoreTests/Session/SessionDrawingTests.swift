import Foundation
import SpoolCore
import Testing

/// The drawings of ARCHITECTURE.md show the transitions that random walks make.
@Suite struct SessionDrawingTests {
    @Test(
        .timeLimit(.minutes(20)),
        arguments: [
            "session", "validation of a reader", "commitment of a reader", "source of a reader", "fetch",
        ])
    func `the drawing of a state machine has its transitions and no others`(machine: String) throws {
        let drawn = try Self.drawn()[machine] ?? []
        let made = Self.made.seen[machine] ?? []
        #expect(made.subtracting(drawn).sorted() == [], "transitions of the \(machine) that ARCHITECTURE.md does not draw")
        #expect(drawn.subtracting(made).sorted() == [], "transitions of the \(machine) that ARCHITECTURE.md draws and no walk makes")
    }

    /// The transitions of walks with fixed seeds, and of the scenes below, which no walk meets. In
    /// half of the walks, readers prepare before they step.
    private static let made: SessionTransitions = {
        var transitions = SessionTransitions()
        for seed in UInt64(1)...400 {
            transitions.beginSession()
            var walk = SessionWalk(seed: seed)
            walk.prepares = seed % 2 == 0
            walk.transitions = transitions
            walk.transitions?.record(walk.machine)
            for _ in 0..<150 { walk.event() }
            walk.settle()
            transitions = walk.transitions ?? transitions
        }
        for scene in [endAtOnce, endWhileOpening, endWhenReady, answerAnotherSite, answerOtherFields, goneWhileRead, replacedBeforeUse] {
            transitions.beginSession()
            let probe = SessionProbe()
            transitions.record(probe.machine)
            scene(probe) { transitions.record(probe.machine) }
        }
        return transitions
    }()

    private static func endAtOnce(_ probe: SessionProbe, _ record: () -> Void) {
        probe.end(.closed)
        record()
    }

    private static func endWhileOpening(_ probe: SessionProbe, _ record: () -> Void) {
        _ = probe.join(0)
        record()
        probe.end(.closed)
        record()
    }

    private static func endWhenReady(_ probe: SessionProbe, _ record: () -> Void) {
        open(probe, record)
        probe.end(.removed)
        record()
    }

    /// The origin confirms the version for another web site than that of a reader which has not
    /// committed yet.
    private static func answerAnotherSite(_ probe: SessionProbe, _ record: () -> Void) {
        var fields = SessionProbe.etag
        fields["Access-Control-Allow-Origin"] = "https://a.example"
        open(probe, fields: fields, record)
        for site in ["https://a.example", "https://b.example"] {
            var request = ReaderRequest(start: 0, end: nil)
            request.site = site
            let (reader, _) = probe.machine.readerJoined(request)
            record()
            _ = probe.prepare(reader)
            record()
        }
        fields["Access-Control-Allow-Origin"] = "https://b.example"
        if let fetch = probe.machine.fetches.first { probe.head(fetch.id, 304, fields) }
        record()
    }

    /// Opens a session, prepares a reader, and lets another one ask for a new version.
    ///
    /// - Returns: The first reader.
    private static func reloadBesidePrepared(_ probe: SessionProbe, _ record: () -> Void) -> ReaderID {
        open(probe, record)
        let reader = probe.join(0)
        record()
        _ = probe.prepare(reader)
        record()
        let other = probe.join(0, rules: UseRules(mode: .reload))
        record()
        _ = probe.prepare(other)
        record()
        return reader
    }

    /// A version that was selected by other request fields takes the place of the one that a reader
    /// may use and has not committed to.
    private static func answerOtherFields(_ probe: SessionProbe, _ record: () -> Void) {
        let reader = reloadBesidePrepared(probe, record)
        if let fetch = probe.machine.fetches.first {
            probe.full(fetch.id, length: 50, fields: ["ETag": "\"v2\"", "Vary": "X-Quality"])
        }
        record()
        probe.machine.willAsk(by: RequestSource(fields: ["X-Quality": "high"]))
        _ = probe.prepare(reader)
        record()
    }

    /// The resource is gone for a reader that asks, while another one reads the one response that the
    /// version consists of.
    private static func goneWhileRead(_ probe: SessionProbe, _ record: () -> Void) {
        open(probe, fields: ["ETag": "W/\"v1\""], record)
        let reader = probe.join(0)
        record()
        probe.read(reader, upTo: 10)
        record()
        let other = probe.join(0, rules: UseRules(mode: .reload))
        record()
        _ = probe.prepare(other)
        record()
        if let fetch = probe.machine.fetches.first { probe.head(fetch.id, 410, [:]) }
        record()
    }

    /// Another version takes the place of the one that a consumer is about to commit to.
    private static func replacedBeforeUse(_ probe: SessionProbe, _ record: () -> Void) {
        let reader = reloadBesidePrepared(probe, record)
        if let fetch = probe.machine.fetches.first { probe.full(fetch.id, length: 50, fields: ["ETag": "\"v2\""]) }
        record()
        probe.machine.readerTold(reader)
        record()
    }

    /// Opens a session with 100 stored bytes.
    private static func open(_ probe: SessionProbe, fields: HTTPFields = SessionProbe.etag, _ record: () -> Void) {
        _ = probe.join(0, 0)
        record()
        probe.open(length: 100, stored: [0...99], fields: fields)
        record()
    }

    /// The transitions that ARCHITECTURE.md draws. A line with a colon names a machine, and the
    /// chains of arrows below it are its transitions.
    private static func drawn() throws -> [String: Set<String>] {
        var directory = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { directory.deleteLastPathComponent() }
        let text = try String(contentsOf: directory.appendingPathComponent("ARCHITECTURE.md"), encoding: .utf8)
        var drawn: [String: Set<String>] = [:]
        var machine: String?
        for line in text.split(separator: "\n") {
            if let colon = line.firstIndex(of: ":"), !line.hasPrefix(" ") { machine = String(line[..<colon]) }
            guard let machine, line.hasPrefix("    "), line.contains("►") else { continue }
            let states = line.split(separator: "►").map { $0.filter { $0.isLetter } }
            for (from, to) in zip(states, states.dropFirst()) { drawn[machine, default: []].insert("\(from) ──► \(to)") }
        }
        return drawn
    }
}
