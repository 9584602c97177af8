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
    static func run(_ name: Substring, _ query: Substring, at door: Door, _ control: Control, on exchange: Exchange) {
        guard query.utf8.count <= queryLimitBytes else { return exchange.respond(.refusal(.queryTooLong, "the query is too long")) }
        guard let verb = named(name, at: door) else {
            return exchange.respond(.refusal(.unknownAction, "there is no command '\(name)'"))
        }
        let (reply, loop) = (LoopConfined(exchange), exchange.loop)
        verb.run(control, Query(query)) { [changed = control.changed] answer in
            changed()
            loop.post { reply.value.respond(answer.response) }
        }
    }

    // MARK: Resources

    private static let resources: [String: ControlVerb] = [
        "pin": ControlVerb(onKey: [.program, .page]) { $0.setPinned(true, $1, $3) },
        "unpin": ControlVerb(onKey: [.program, .page]) { $0.setPinned(false, $1, $3) },
        "remove": ControlVerb(onKey: [.program, .page]) { control, key, _, done in control.remove(key, done) },
        "clear": ControlVerb([.program, .page]) { control, _, done in control.clear(done) },
        "erase-everything": ControlVerb([.program, .page]) { control, _, done in control.eraseEverything(done) },
        "not-stored": ControlVerb(onKey: [.program]) { control, key, _, done in
            control.cache.status(of: key) { done(ControlAnswer($0) { [("because", .string($0?.notStoredBecause ?? ""))] }) }
        },
        "enter-received": ControlVerb([.program]) { control, _, done in
            control.cache.enterReceived { done(ControlAnswer($0) { [] }) }
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
    fileprivate func setPinned(_ isPinned: Bool, _ key: ResourceKey, _ done: @escaping ControlVerb.Done) {
        cache.setPinned(key, isPinned) { done(ControlAnswer($0) { [("changed", .bool($0))] }) }
    }

    fileprivate func remove(_ key: ResourceKey, _ done: @escaping ControlVerb.Done) {
        cache.status(of: key) { [cache] status in
            // After an error here the removal fails too, and its error is reported.
            let bytes: Int64 = if case .success(let found?) = status { found.stored.totalBytes } else { 0 }
            cache.remove(key) { done(ControlAnswer($0) { [("removed", .integer($0 ? 1 : 0)), ("bytes", .integer(bytes))] }) }
        }
    }

    fileprivate func clear(_ done: @escaping ControlVerb.Done) {
        Removal.clear(cache) { [self] removal in
            switch removal {
            case .success(let removal):
                size {
                    done(
                        ControlAnswer($0) { kept in
                            [
                                ("removed", .integer(Int64(removal.count))), ("bytes", .integer(removal.bytes)),
                                ("kept", .integer(Int64(kept.count))), ("keptBytes", .integer(kept.bytes)),
                            ]
                        })
                }
            case .failure(let error): done(ControlAnswer(error))
            }
        }
    }

    fileprivate func eraseEverything(_ done: @escaping ControlVerb.Done) {
        size { [cache] before in
            switch before {
            case .success(let before):
                Removal.eraseEverything(in: cache) {
                    done(ControlAnswer($0) { [("removed", .integer(Int64(before.count))), ("bytes", .integer(before.bytes))] })
                }
            case .failure(let error): done(ControlAnswer(error))
            }
        }
    }

    /// Passes the number of resources and the bytes on disk to `done`, on the index lane.
    private func size(_ done: @escaping @Sendable (Result<(count: Int, bytes: Int64), CacheError>) -> Void) {
        cache.onIndexLane(nil, done) { [store = cache.store] () throws(StoreError) in (try store.count(), try store.totalSizeBytes()) }
    }

    /// The advice for an operator whose clients come through a proxy, or an empty text.
    fileprivate var advice: String {
        notices.entries.contains { $0.notice.because == Strangers.advice } ? Strangers.advice : ""
    }
}
