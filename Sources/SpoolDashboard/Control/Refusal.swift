import SpoolCore
import SpoolJSON
import SpoolProxy
import SpoolServer

/// The code of a refusal in the JSON of reports and of commands: `code`, beside the sentence in
/// `error`. Programs compare it; the sentence may change. `docs/openapi.json` lists
/// all.
package enum RefusalCode: String, CaseIterable, Sendable {
    /// A parameter is missing or can't be read.
    case invalidQuery
    /// The query is too long.
    case queryTooLong
    /// An action has a body.
    case hasBody
    /// The request comes from another site than the page.
    case notThePage
    /// The request comes from another machine.
    case notThisMachine
    /// The request of a program comes from a browser, or lacks the token of this server.
    case notAProgram
    /// The browser has not logged in, or its session is over.
    case notLoggedIn
    /// A login link was used or has expired.
    case expired
    /// There is no action with this name.
    case unknownAction
    /// There is no job with this number that can change so.
    case unknownJob
    /// Too many jobs or streams run already.
    case tooMany
    /// Nothing, or not all, of the resource is stored.
    case notStored
    /// This proxy does not serve the URL.
    case notServed
    /// The cache is closed.
    case closed
    /// The cache could not do it.
    case cacheFailed

    /// The status of a refusal with this code.
    var status: Int {
        switch self {
        case .invalidQuery: 400
        case .queryTooLong: 414
        case .hasBody: 413
        case .notThePage, .notThisMachine, .notAProgram, .notServed: 403
        case .notLoggedIn, .expired: 401
        case .unknownAction, .unknownJob, .notStored: 404
        case .tooMany, .closed: 503
        case .cacheFailed: 500
        }
    }

    init(_ error: CacheError) {
        self =
            switch error.code {
            case .closed: .closed
            case .notStored: .notStored
            default: .cacheFailed
            }
    }
}

extension JSON {
    /// The fields of a response with a JSON body. They keep a browser from treating it as another
    /// type.
    static let fields: HTTPFields = [
        .contentType: "application/json", .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
    ]
}

extension Response {
    /// Returns a refusal in JSON, with a code for programs and a sentence for people.
    ///
    /// - Parameter status: The status, or nil for that of the code.
    static func refusal(_ code: RefusalCode, status: Int? = nil, _ sentence: String) -> Response {
        let members: [(String, JSON)] = [("error", .string(sentence)), ("code", .string(code.rawValue))]
        return Response(status ?? code.status, fields: JSON.fields, body: .bytes(JSON.object(members).bytes))
    }

    /// Returns the refusal of a cache.
    static func refusal(_ error: CacheError) -> Response {
        .refusal(RefusalCode(error), status: error.statusForClient, error.message)
    }
}
