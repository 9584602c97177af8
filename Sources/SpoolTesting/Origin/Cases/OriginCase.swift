package import Spool
internal import SpoolCore

/// One row of the table of hostile origins (docs/origins.md): what an origin does, what its clients do, and what comes of it.
///
/// Outcomes are words, so that tests compare them as they stand and the page shows them as they are. A row says the same for each
/// door; what a door does otherwise is said beside it.
package struct OriginCase: Sendable, CustomStringConvertible {
    /// What happens, in order.
    package enum Step: Sendable {
        /// The origin does this with its next requests, one after another, and goes on with the last.
        case follow([OriginBehaviour])
        /// What the origin does at one path, whatever it does elsewhere.
        case route(String, OriginBehaviour)
        /// What the origin does where a request has this `User-Agent`.
        case agent(String, OriginBehaviour)
        /// The origin has another version from now on.
        case serve(VirtualResource)
        case offline(Bool)
        /// The origin closes every connection that is idle.
        case closeConnections
        /// A client asks, and reads to the end of the answer.
        case ask(Ask)

        package static func get(_ lower: Int64 = 0, to upper: Int64? = nil) -> Step { .ask(Ask(ranges: [Ask.Part(lower, upper)])) }
    }

    /// What a client asks for.
    package struct Ask: Sendable {
        /// `[lower, upper)`; upper nil for the end.
        package struct Part: Sendable {
            package var lower: Int64
            package var upper: Int64?

            init(_ lower: Int64, _ upper: Int64?) {
                self.lower = lower
                self.upper = upper
            }

            package var fieldValue: String { "\(lower)-" + (upper.map { String($0 - 1) } ?? "") }
        }

        package var ranges: [Part]
        /// It wants the origin's word (`Cache-Control: no-cache`).
        package var isReload = false
        package var isHead = false
        /// What it calls itself (`User-Agent`); nil for nothing.
        package var agent: String?

        /// Every byte and nothing said about ranges.
        package var isWhole: Bool { ranges.count == 1 && ranges[0].lower == 0 && ranges[0].upper == nil }
        package var rangeValue: String? { isWhole ? nil : "bytes=" + ranges.map(\.fieldValue).joined(separator: ",") }
    }

    /// What comes of it.
    package struct Outcome: Hashable, Sendable {
        /// What each client got, joined by `; `.
        package var answers: String
        package var stored: String
        /// What the origin was asked, joined by `, `.
        package var requests: String

        package init(answers: String, stored: String, requests: String) {
            self.answers = answers
            self.stored = stored
            self.requests = requests
        }

        /// In what it is not as it ought to be, in words.
        package func differences(from expected: Outcome) -> [String] {
            [("answers", answers, expected.answers), ("stored", stored, expected.stored), ("requests", requests, expected.requests)]
                .compactMap { name, found, expected in found == expected ? nil : "\(name): \(found)\n  instead of: \(expected)" }
        }
    }

    /// The ways on which a row is played.
    package struct Doors: OptionSet, Sendable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }
        /// The HTTP door over the scripted origin, with the test's clock.
        package static let http = Doors(rawValue: 1)
        /// The HTTP door over the platform's own transport and an origin on a socket.
        package static let socket = Doors(rawValue: 2)
        /// The AVFoundation door over the scripted origin in a simulation.
        package static let loader = Doors(rawValue: 4)
        package static let all: Doors = [.http, .socket, .loader]
    }

    /// The row of the research table; further cases have an F before their number.
    package var number: String
    /// What the origin does, as a sentence.
    package var name: String
    package var resource = Self.song
    package var configure: @Sendable (inout Configuration) -> Void = { _ in }
    package var steps: [Step]
    package var outcome: Outcome
    /// Where the AVFoundation door comes out differently.
    package var loader: Outcome?
    /// What the origin was asked where it is one on a socket, when that is something else.
    package var socketRequests: String?
    package var doors = Doors.all
    /// From when on time passes as soon as somebody waits for it, for retries and time-outs: the bytes of an answer that a client has
    /// by then. Nil where time stands still.
    package var flowsAfterBytes: Int?
    /// Whether it is told how often the same was asked in a row; not so where that depends on when a reader looks.
    package var countsRepeats = true

    package var description: String { "\(number): \(name)" }

    package init(
        _ number: String, _ name: String, _ steps: [Step], answers: String, stored: String, requests: String
    ) {
        self.number = number
        self.name = name
        self.steps = steps
        outcome = Outcome(answers: answers, stored: stored, requests: requests)
    }

    // MARK: Refinements

    package func of(_ resource: VirtualResource) -> OriginCase { changed { $0.resource = resource } }

    package func of(_ change: (inout VirtualResource) -> Void) -> OriginCase { changed { change(&$0.resource) } }

    package func on(_ doors: Doors) -> OriginCase { changed { $0.doors = doors } }

    package func configured(_ configure: @escaping @Sendable (inout Configuration) -> Void) -> OriginCase {
        changed { $0.configure = configure }
    }

    /// Time passes as soon as somebody waits for it.
    package var flowing: OriginCase { changed { $0.flowsAfterBytes = 0 } }

    /// Time passes once the client has read what comes before the trouble.
    package func flowing(after bytes: Int) -> OriginCase { changed { $0.flowsAfterBytes = bytes } }

    package var withoutRepeats: OriginCase { changed { $0.countsRepeats = false } }

    /// What is different where the origin is one on a socket.
    package func socket(requests: String) -> OriginCase { changed { $0.socketRequests = requests } }

    /// What is different at the AVFoundation door.
    package func loader(answers: String? = nil, stored: String? = nil, requests: String? = nil) -> OriginCase {
        changed { row in
            row.loader = Outcome(
                answers: answers ?? row.loaderOutcome.answers, stored: stored ?? row.outcome.stored,
                requests: requests ?? row.outcome.requests)
        }
    }

    private func changed(_ change: (inout OriginCase) -> Void) -> OriginCase {
        var row = self
        change(&row)
        return row
    }

    // MARK: On a socket

    /// What comes of it where the origin is one on a socket.
    package var socketOutcome: Outcome {
        var outcome = outcome
        outcome.requests = socketRequests ?? outcome.requests
        return outcome
    }

    /// Whether the origin says nothing for so long that a time-out ends it.
    package var waitsInVain: Bool {
        steps.contains { step in
            guard case .follow(let behaviours) = step else { return false }
            return behaviours.contains { behaviour in
                switch behaviour {
                case .silence, .stall: true
                default: false
                }
            }
        }
    }

    // MARK: At the AVFoundation door

    /// What the AVFoundation door makes of the row: there are no statuses there, a refusal is an error.
    package var loaderOutcome: Outcome {
        if let loader { return loader }
        let answers = outcome.answers.split(separator: ";").map { answer -> String in
            let words = answer.split(separator: " ")
            return words.count > 1 ? words.dropFirst().joined(separator: " ") : "error"
        }
        return Outcome(answers: answers.joined(separator: "; "), stored: outcome.stored, requests: outcome.requests)
    }

    /// Whether a player's loader can ask what the clients of this row ask.
    package var isForLoader: Bool {
        doors.contains(.loader)
            && steps.allSatisfy { step in
                if case .ask(let ask) = step { return ask.ranges.count == 1 && !ask.isReload && !ask.isHead && ask.agent == nil }
                return true
            }
    }

    // MARK: What is played

    package static let song = VirtualResource(url: "http://origin.test/song.mp3", seed: 1, length: 100_000, contentType: "audio/mpeg")

    /// What is there from the beginning, and what the origin serves later: by these versions bytes are recognised.
    package var versions: [VirtualResource] {
        [resource]
            + steps.compactMap { step in
                if case .serve(let version) = step { return version }
                return nil
            }
    }
}
