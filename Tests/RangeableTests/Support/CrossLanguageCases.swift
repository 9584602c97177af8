import Foundation
import Rangeable

/// The content of the RFC's file of cases. Its README explains the parts.
struct CrossLanguageCases: Decodable {
    let ops: [Operation]
    let setOperations: [SetOperation]
    let probes: [Probe]

    private enum CodingKeys: String, CodingKey {
        case ops, probes
        case setOperations = "set_ops"
    }

    // MARK: The file

    /// The file in the directory that `SPOOL_FIXTURES` names, or else in `shared/fixtures` beside
    /// the package.
    static var location: String {
        let directory = ProcessInfo.processInfo.environment["SPOOL_FIXTURES"] ?? besideThePackage
        return directory + "/rangeable_cross_language.json"
    }

    private static var besideThePackage: String {
        let package = (0..<4).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        return package.deletingLastPathComponent().appendingPathComponent("shared/fixtures").path
    }

    static var isThere: Bool { FileManager.default.fileExists(atPath: location) }

    static func load() throws -> CrossLanguageCases {
        try JSONDecoder().decode(CrossLanguageCases.self, from: Data(contentsOf: URL(fileURLWithPath: location)))
    }

    // MARK: Operations

    struct Operation: Decodable {
        let op: String
        let element: Int?
        let start: Int?
        let end: Int?

        private static let names = ["strong", "italic", "code", "link:a", "link:b"]

        func apply(to container: inout Rangeable<String>) throws {
            let element = element.map { Self.names[$0] }
            switch (op, element, start, end) {
            case ("insert", let element?, let start?, let end?): try container.insert(element, start: start, end: end)
            case ("remove", let element?, let start?, let end?): try container.remove(element, start: start, end: end)
            case ("remove_element", let element?, nil, nil): container.remove(element)
            case ("remove_ranges", nil, let start?, let end?): try container.removeRanges(start: start, end: end)
            case ("clear", nil, nil, nil): container.removeAll()
            default: throw UnknownCase(what: "\(self)")
            }
        }
    }

    struct UnknownCase: Error { let what: String }

    static func container(_ operations: some Sequence<Operation>) throws -> Rangeable<String> {
        try operations.reduce(into: Rangeable()) { try $1.apply(to: &$0) }
    }

    /// Returns the containers by the names of phases.
    func phases() throws -> [String: Rangeable<String>] {
        let insertions = ops.prefix { $0.op == "insert" }
        let removals = ops.dropFirst(insertions.count).filter { $0.op == "remove" }.prefix(30)
        return [
            "v1": try Self.container(insertions),
            "after_removes": try Self.container(insertions + removals),
            "final": try Self.container(ops),
        ]
    }

    // MARK: Set operations

    struct SetOperation: Decodable {
        let id: String
        let op: String
        let mine: [Operation]
        let theirs: [Operation]
        let chained: [Operation]?
        let expectedState: State
        let probes: [Probe]

        private enum CodingKeys: String, CodingKey {
            case id, op, probes
            case mine = "self_ops"
            case theirs = "other_ops"
            case chained = "chain_ops"
            case expectedState = "expected_state"
        }

        struct State: Decodable {
            let insertionOrder: [String]
            let intervals: [String: [[Int]]]

            private enum CodingKeys: String, CodingKey {
                case insertionOrder = "insertion_order"
                case intervals
            }
        }

        /// Returns the result of the operation. The container of a chain is combined with that
        /// result in the same way.
        func result() throws -> Rangeable<String> {
            try ([theirs] + [chained].compactMap { $0 })
                .reduce(CrossLanguageCases.container(mine)) { try combined($0, CrossLanguageCases.container($1)) }
        }

        private func combined(_ a: Rangeable<String>, _ b: Rangeable<String>) throws -> Rangeable<String> {
            switch op {
            case "union": a.union(b)
            case "intersect": a.intersection(b)
            case "difference": a.subtracting(b)
            case "symmetric_difference": a.symmetricDifference(b)
            default: throw UnknownCase(what: op)
            }
        }
    }

    // MARK: Probes

    struct Probe: Decodable {
        let phase: String?
        let question: Question

        enum Question {
            case active(at: Int, [String])
            case transitions(ClosedRange<Int>, [TransitionEvent<String>])
        }

        private enum CodingKeys: String, CodingKey { case kind, phase, i, lo, hi, expected }

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            phase = try fields.decodeIfPresent(String.self, forKey: .phase)
            switch try fields.decode(String.self, forKey: .kind) {
            case "subscript":
                question = .active(
                    at: try fields.decode(Int.self, forKey: .i), try fields.decode([String].self, forKey: .expected))
            case "transitions":
                let range = try fields.decode(Int.self, forKey: .lo)...fields.decode(Int.self, forKey: .hi)
                question = .transitions(range, try fields.decode([Event].self, forKey: .expected).map { try $0.event() })
            case let kind: throw UnknownCase(what: kind)
            }
        }

        private struct Event: Decodable {
            let coordinate: Int?
            let kind: String
            let element: String

            func event() throws -> TransitionEvent<String> {
                let kinds: [String: TransitionKind] = ["open": .open, "close": .close]
                guard let kind = kinds[kind] else { throw UnknownCase(what: kind) }
                return TransitionEvent(coordinate: coordinate, kind: kind, element: element)
            }
        }
    }
}
