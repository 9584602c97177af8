import SpoolCore

/// The transitions of the small state machines of a session, as they happen from event to event.
struct SessionTransitions {
    /// The transitions of each machine, as `from ──► to`.
    private(set) var seen: [String: Set<String>] = [:]
    private var states: [String: [String: String]] = [:]

    /// Records the changes since the last call. A session starts before its first event, a reader
    /// when it joins, and a fetch when it is requested; a fetch ends when it is removed.
    mutating func record(_ machine: SessionStateMachine) {
        note("session", ["": machine.phase.name], end: nil)
        let readers = machine.readers
        func each(_ name: (ReaderState) -> String) -> [String: String] {
            Dictionary(readers.map { ("\($0.id)", name($0)) }, uniquingKeysWith: { first, _ in first })
        }
        note("validation of a reader", each(\.validation.name), end: nil)
        note("commitment of a reader", each(\.commitment.name), end: nil)
        note("source of a reader", each(\.source.name), end: nil)
        note("fetch", Dictionary(machine.fetches.map { ("\($0.id)", $0.stage.name) }, uniquingKeysWith: { first, _ in first }), end: "end")
    }

    private mutating func note(_ machine: String, _ now: [String: String], end: String?) {
        let before = states[machine] ?? [:]
        for (id, state) in now where before[id] != state { add(machine, before[id] ?? "start", state) }
        if let end { for (id, state) in before where now[id] == nil { add(machine, state, end) } }
        states[machine] = now
    }

    private mutating func add(_ machine: String, _ from: String, _ to: String) {
        seen[machine, default: []].insert("\(from) ──► \(to)")
    }

    /// Forgets the present states, before another session is recorded.
    mutating func beginSession() { states = [:] }
}

extension SessionPhase {
    fileprivate var name: String {
        switch self {
        case .new: "new"
        case .opening: "opening"
        case .ready: "ready"
        case .ended: "ended"
        }
    }
}

extension ReaderState.Validation {
    fileprivate var name: String {
        switch self {
        case .unchecked: "unchecked"
        case .awaitsOrigin: "awaitsOrigin"
        case .awaitsGap: "awaitsGap"
        case .trusts: "trusts"
        }
    }
}

extension ReaderState.Commitment {
    fileprivate var name: String {
        switch self {
        case .none: "none"
        case .prepared: "prepared"
        case .told: "told"
        }
    }
}

extension ReaderState.Source {
    fileprivate var name: String {
        switch self {
        case .undecided: "undecided"
        case .version: "version"
        case .awaited: "awaited"
        case .body: "body"
        case .replaced: "replaced"
        }
    }
}

extension FetchState.Stage {
    fileprivate var name: String {
        switch self {
        case .requested(.bytes): "requested"
        case .requested(.validation): "validation"
        case .receiving: "receiving"
        case .closing: "closing"
        case .draining: "draining"
        }
    }
}
