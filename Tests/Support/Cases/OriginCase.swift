package import Spool
internal import SpoolCore
package import SpoolTesting

/// One row of the table of hostile origins (docs/origins.md): the behaviour of an origin, the
/// requests of its clients, and the outcome.
///
/// Outcomes are text, so that tests compare them directly and the page shows them unchanged. A row
/// has one outcome for all doors, and lists the differences of a door beside it.
package struct OriginCase: Sendable, CustomStringConvertible {
    /// One event of a row, in order.
    package enum Step: Sendable {
        /// The origin behaves like this for its next requests, one after another, and repeats the
        /// last behaviour.
        case follow([OriginBehaviour])
        /// The origin behaves like this at one path, independently of other steps.
        case route(String, OriginBehaviour)
        /// The origin behaves like this for requests with this `User-Agent`.
        case agent(String, OriginBehaviour)
        /// The origin serves another version from now on.
        case serve(VirtualResource)
        /// The origin goes offline, or comes back.
        case offline(Bool)
        /// The origin closes every idle connection.
        case closeConnections
        /// A client sends a request and reads the response to its end.
        case ask(Ask)

        /// Returns a request for `[lower, upper)`, or to the end if `upper` is nil.
        package static func get(_ lower: Int64 = 0, to upper: Int64? = nil) -> Step { .ask(Ask(ranges: [Ask.Part(lower, upper)])) }
    }

    /// The request of a client.
    package struct Ask: Sendable {
        /// The range `[lower, upper)`, or to the end if `upper` is nil.
        package struct Part: Sendable {
            /// The offset of the first byte.
            package var lower: Int64
            /// The offset after the last byte, or nil for the end.
            package var upper: Int64?

            init(_ lower: Int64, _ upper: Int64?) {
                self.lower = lower
                self.upper = upper
            }

            /// The range as it stands in a `Range` field.
            package var fieldValue: String { "\(lower)-" + (upper.map { String($0 - 1) } ?? "") }
        }

        /// The ranges of the request.
        package var ranges: [Part]
        /// Whether the request asks for revalidation (`Cache-Control: no-cache`).
        package var isReload = false
        /// Whether the request is a HEAD.
        package var isHead = false
        /// The value of `User-Agent`, or nil for none.
        package var agent: String?

        /// Whether the request is for every byte, without a `Range` field.
        package var isWhole: Bool { ranges.count == 1 && ranges[0].lower == 0 && ranges[0].upper == nil }
        /// The value of `Range`, or nil for none.
        package var rangeValue: String? { isWhole ? nil : "bytes=" + ranges.map(\.fieldValue).joined(separator: ",") }
    }

    /// The outcome of a row.
    package struct Outcome: Hashable, Sendable {
        /// The responses that the clients got, joined by `; `.
        package var answers: String
        /// The bytes that are stored at the end.
        package var stored: String
        /// The requests that the origin got, joined by `, `.
        package var requests: String

        /// Creates an outcome.
        package init(answers: String, stored: String, requests: String) {
            self.answers = answers
            self.stored = stored
            self.requests = requests
        }

        /// Returns a description of each difference from `expected`.
        package func differences(from expected: Outcome) -> [String] {
            [("answers", answers, expected.answers), ("stored", stored, expected.stored), ("requests", requests, expected.requests)]
                .compactMap { name, found, expected in
                    found == expected || Self.isOpen(expected, found) ? nil : "\(name): \(found)\n  instead of: \(expected)"
                }
        }

        /// Whether a row expects `30000-… of v1`, and these or fewer bytes are stored: as many as had
        /// arrived when their fetch ended.
        private static func isOpen(_ expected: String, _ found: String) -> Bool {
            guard let dots = expected.firstRange(of: "…") else { return false }
            let end = expected[dots.upperBound...]
            let isWithin = found.hasPrefix(expected[..<dots.lowerBound]) && [end, end + ", all"].contains { found.hasSuffix($0) }
            return isWithin || found == "nothing"
        }
    }

    /// The doors and transports through which a row is played.
    package struct Doors: OptionSet, Sendable {
        /// The bits of the set.
        package let rawValue: Int
        /// Creates a set from its bits.
        package init(rawValue: Int) { self.rawValue = rawValue }
        /// The HTTP door over the scripted origin, with the clock of the test.
        package static let http = Doors(rawValue: 1)
        /// The HTTP door over the transport of the platform and an origin on a socket.
        package static let socket = Doors(rawValue: 2)
        /// The AVFoundation door over the scripted origin in a simulation.
        package static let loader = Doors(rawValue: 4)
        /// All doors.
        package static let all: Doors = [.http, .socket, .loader]
    }

    /// The row of the research table. Further cases have an F before their number.
    package var number: String
    /// The behaviour of the origin, as a sentence.
    package var name: String
    /// The resource that the origin serves at first.
    package var resource = Self.song
    /// Changes the configuration of the cache.
    package var configure: @Sendable (inout Configuration) -> Void = { _ in }
    /// The events, in order.
    package var steps: [Step]
    /// The expected outcome.
    package var outcome: Outcome
    /// The outcome at the AVFoundation door, if it differs.
    package var loader: Outcome?
    /// The requests to an origin on a socket, if they differ.
    package var socketRequests: String?
    /// The doors through which the row is played.
    package var doors = Doors.all
    /// The number of body bytes that a client has read when virtual time begins to pass, for
    /// retries and time-outs. From then on, time passes as soon as a timer is set. Nil if time
    /// stands still.
    package var flowsAfterBytes: Int?
    /// Whether repeated requests are listed each. False where their number depends on the moment at
    /// which a reader looks.
    package var countsRepeats = true

    /// The number and the name.
    package var description: String { "\(number): \(name)" }

    /// Creates a row for all doors.
    package init(
        _ number: String, _ name: String, _ steps: [Step], answers: String, stored: String, requests: String
    ) {
        self.number = number
        self.name = name
        self.steps = steps
        outcome = Outcome(answers: answers, stored: stored, requests: requests)
    }

    // MARK: Refinements

    /// Returns the row with another resource.
    package func of(_ resource: VirtualResource) -> OriginCase { changed { $0.resource = resource } }

    /// Returns the row with a changed resource.
    package func of(_ change: (inout VirtualResource) -> Void) -> OriginCase { changed { change(&$0.resource) } }

    /// Returns the row for these doors only.
    package func on(_ doors: Doors) -> OriginCase { changed { $0.doors = doors } }

    /// Returns the row with another configuration of the cache.
    package func configured(_ configure: @escaping @Sendable (inout Configuration) -> Void) -> OriginCase {
        changed { $0.configure = configure }
    }

    /// The row with time that passes as soon as a timer is set.
    package var flowing: OriginCase { changed { $0.flowsAfterBytes = 0 } }

    /// Returns the row with time that passes once the client has read the first `bytes` bytes.
    package func flowing(after bytes: Int) -> OriginCase { changed { $0.flowsAfterBytes = bytes } }

    /// The row without repeated requests in its list.
    package var withoutRepeats: OriginCase { changed { $0.countsRepeats = false } }

    /// Returns the row with other requests for an origin on a socket.
    package func socket(requests: String) -> OriginCase { changed { $0.socketRequests = requests } }

    /// Returns the row with another outcome at the AVFoundation door.
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

    /// The outcome with an origin on a socket.
    package var socketOutcome: Outcome {
        var outcome = outcome
        outcome.requests = socketRequests ?? outcome.requests
        return outcome
    }

    /// Whether the origin is silent until a time-out ends the request.
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

    /// The outcome at the AVFoundation door. There are no statuses there, and a refusal is an
    /// error.
    package var loaderOutcome: Outcome {
        if let loader { return loader }
        let answers = outcome.answers.split(separator: ";").map { answer -> String in
            let words = answer.split(separator: " ")
            return words.count > 1 ? words.dropFirst().joined(separator: " ") : "error"
        }
        return Outcome(answers: answers.joined(separator: "; "), stored: outcome.stored, requests: outcome.requests)
    }

    /// Whether the loader of a player can send the requests of this row.
    package var isForLoader: Bool {
        doors.contains(.loader)
            && steps.allSatisfy { step in
                if case .ask(let ask) = step { return ask.ranges.count == 1 && !ask.isReload && !ask.isHead && ask.agent == nil }
                return true
            }
    }

    // MARK: What is played

    /// The resource of most rows: 100 000 bytes of audio.
    package static let song = VirtualResource(url: "http://origin.test/song.mp3", seed: 1, length: 100_000, contentType: "audio/mpeg")

    /// The first version and those that the origin serves later. Bytes are compared with these
    /// versions.
    package var versions: [VirtualResource] {
        [resource]
            + steps.compactMap { step in
                if case .serve(let version) = step { return version }
                return nil
            }
    }
}
