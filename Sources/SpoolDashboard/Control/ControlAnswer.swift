import SpoolCore
import SpoolJSON
import SpoolProxy
import SpoolServer

/// The answer to a command.
enum ControlAnswer: Sendable {
    /// Takes the answer, once, on any thread.
    typealias Done = @Sendable (ControlAnswer) -> Void

    case object([(String, JSON)])
    case refused(RefusalCode, status: Int? = nil, String)

    init(_ refusal: ControlRefusal) { self = .refused(refusal.code, refusal.text) }

    init(_ error: CacheError) { self = .refused(RefusalCode(error), status: error.statusForClient, error.message) }

    /// Creates the answer for the result of a cache.
    init<Value>(_ result: Result<Value, CacheError>, _ members: (Value) -> [(String, JSON)]) {
        switch result {
        case .success(let value): self = .object(members(value))
        case .failure(let error): self.init(error)
        }
    }

    var response: Response {
        switch self {
        case .object(let members): Response(200, fields: JSON.fields, body: .bytes(JSON.object(members).bytes))
        case .refused(let code, let status, let text): .refusal(code, status: status, text)
        }
    }
}

/// An error that names the reason why a job can't begin or change.
struct ControlRefusal: Error {
    var code: RefusalCode
    var text: String
}
