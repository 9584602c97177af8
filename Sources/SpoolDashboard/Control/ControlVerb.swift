import Spool
import SpoolCore
import SpoolJSON
import SpoolProxy
import SpoolServer
import SpoolSystem

/// A command for a running server, from a program or from the status page.
///
/// To add a command, add an entry to one of the tables of `all`.
struct ControlVerb: Sendable {
    /// A way by which commands come. Each has a guard of its own.
    enum Door: Sendable {
        /// Programs of the same user, with the token of `serve.json` (`ProgramDoor`).
        case program
        /// Browsers that have logged in (`PageDoor`). They name keys and URLs, never paths.
        case page
    }

    /// Runs a command. Calls the closure once, on any thread.
    typealias Run = @Sendable (Control, Query, @escaping Done) -> Void
    typealias Done = ControlAnswer.Done

    /// The doors by which the command may come.
    let doors: Set<Door>
    /// The parameters of its query.
    let parameters: [String]
    /// Whether `docs/openapi.json` describes the command for scripts.
    let isDocumented: Bool
    let run: Run

    init(_ doors: Set<Door>, _ parameters: [String] = [], isDocumented: Bool = false, run: @escaping Run) {
        (self.doors, self.parameters, self.isDocumented, self.run) = (doors, parameters, isDocumented, run)
    }

    /// Creates a command on the resource that `key=` names.
    init(onKey doors: Set<Door>, _ further: [String] = [], run: @escaping @Sendable (Control, ResourceKey, Query, @escaping Done) -> Void) {
        self.init(doors, ["key"] + further) { control, query, done in
            guard let key = query.key else { return done(.refused(.invalidQuery, "key= is missing")) }
            run(control, key, query, done)
        }
    }

    /// All commands by their names.
    static let all: [String: ControlVerb] = [resources, transfers, downloads].reduce(into: [:]) { all, table in
        all.merge(table) { _, _ in preconditionFailure("two commands have one name") }
    }

    /// Returns the command with a name, if it may come by a door.
    static func named(_ name: some StringProtocol, at door: Door) -> ControlVerb? {
        all[String(name)].flatMap { $0.doors.contains(door) ? $0 : nil }
    }

    /// The longest query that is read, in bytes. The head of a request has its own bound.
    private static let queryLimitBytes = 16 << 10

    /// Runs a command that the guard of a door has let through, and answers the request. On the
    /// loop only.
    ///
    /// - Parameter isChanging: Whether the command may change resources, which pages then read again.
    static func run(
        _ name: Substring, _ query: Substring, at door: Door, _ control: Control, on exchange: Exchange, isChanging: Bool = true
    ) {
        guard query.utf8.count <= queryLimitBytes else { return exchange.respond(.refusal(.queryTooLong, "the query is too long")) }
        guard let verb = named(name, at: door) else {
            return exchange.respond(.refusal(.unknownAction, "there is no command '\(name)'"))
        }
        let (reply, loop) = (LoopConfined(exchange), exchange.loop)
        verb.run(control, Query(query)) { [changed = control.changed] answer in
            if isChanging { changed() }
            loop.post { reply.value.respond(answer.response) }
        }
    }

    // MARK: Resources

    private static let resources: [String: ControlVerb] = [
        "pin": ControlVerb(onKey: [.program, .page]) { control, key, _, done in
            answering(done) { () throws(CacheError) in [("changed", .bool(try await control.cache.pin(key)))] }
        },
        "unpin": ControlVerb(onKey: [.program, .page]) { control, key, _, done in
            answering(done) { () throws(CacheError) in [("changed", .bool(try await control.cache.unpin(key)))] }
        },
        "remove": ControlVerb(onKey: [.program, .page]) { control, key, _, done in
            answering(done) { () throws(CacheError) in
                let removed = try await control.cache.presentations.remove(key)
                return [("removed", .integer(Int64(removed.count))), ("bytes", .integer(removed.map { $0.bytes }.saturatedSum))]
            }
        },
        "clear": ControlVerb([.program, .page]) { control, _, done in
            answering(done) { () throws(CacheError) in try await control.cache.removeAll(erasing: false).members }
        },
        "erase-everything": ControlVerb([.program, .page]) { control, _, done in
            answering(done) { () throws(CacheError) in try await control.cache.removeAll(erasing: true).members }
        },
        "not-stored": ControlVerb(onKey: [.program]) { control, key, _, done in
            // The head of a response that forbids storing goes with its last reader. Its notice stays.
            let noted = control.notices.entries.first { $0.notice.kind == .notStored && $0.notice.key == key }?.notice.because
            control.cache.status(of: key) { status in
                done(ControlAnswer(status) { [("because", .string(($0 == nil ? noted : $0?.notStoredBecause) ?? ""))] })
            }
        },
        "enter-received": ControlVerb([.program]) { control, _, done in
            control.cache.enterReceived { done(ControlAnswer($0) { [] }) }
        },
        "reload": ControlVerb([.program]) { control, _, done in
            control.reload { report in
                guard let report else { return done(.refused(.notServed, "it reads its settings at its start only")) }
                done(.object([("report", .string(report))]))
            }
        },
        "advice": ControlVerb([.program]) { control, _, done in done(.object([("advice", .string(control.advice))])) },
        "login": ControlVerb([.program]) { control, _, done in
            guard let makeLink = control.makeLink else {
                return done(
                    .refused(
                        .notServed, "with --origin, the site's pages share the address of the status page, so the page takes no actions"))
            }
            done(.object([("link", .string(makeLink()))]))
        },
    ]
}

extension Control {
    /// The advice for an operator whose clients come through a proxy, or an empty text.
    fileprivate var advice: String {
        notices.entries.contains { $0.notice.because == Strangers.advice } ? Strangers.advice : ""
    }
}
