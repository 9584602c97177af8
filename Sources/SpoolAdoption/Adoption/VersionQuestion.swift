import Spool
import SpoolCore
import SpoolSystem

/// One question to the origin: which version of a resource does it have?
///
/// The question is a reader that leaves once it has the head of the response.
final class VersionQuestion: Sendable {
    private struct State {
        var reader: SessionReader?
        var done: (@Sendable (Result<Representation, CacheError>) -> Void)?
    }

    private let state: Locked<State>
    private let mailbox: any Mailbox

    private init(_ mailbox: any Mailbox, _ done: @escaping @Sendable (Result<Representation, CacheError>) -> Void) {
        self.mailbox = mailbox
        state = Locked(State(done: done))
    }

    /// Asks the origin, and calls `done` on the mailbox.
    static func ask(
        _ cache: MediaCache, for url: String, on mailbox: any Mailbox,
        _ done: @escaping @Sendable (Result<Representation, CacheError>) -> Void
    ) {
        let question = VersionQuestion(mailbox, done)
        do throws(CacheError) {
            var options = ReadOptions()
            options.endsSoon = true
            options.priority = .prefetch
            let reader = try cache.sessionReader(
                for: MediaURL(cachable: url), start: 0, end: nil, wantsBytes: false, options: options,
                wake: { mailbox.post { question.look() } })
            question.state.withLock { $0.reader = reader }
            mailbox.post { question.look() }
        } catch {
            mailbox.post { question.end(.failure(error)) }
        }
    }

    private func look() {
        guard let reader = state.withLock({ $0.reader }) else { return }
        switch reader.prepare() {
        case .wait: return
        case .ready(_, let representation): end(.success(representation))
        case .failed(let error): end(.failure(error))
        }
    }

    private func end(_ result: Result<Representation, CacheError>) {
        let (reader, done) = state.withLock { state in
            defer { state = State() }
            return (state.reader, state.done)
        }
        reader?.leave(explicitly: true)
        done?(result)
    }
}
