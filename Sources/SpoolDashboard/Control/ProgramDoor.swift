import SpoolCore
import SpoolProxy
import SpoolServer

/// The door of programs to the commands of a running server: `POST /_spool/api/<verb>?<query>`.
///
/// It serves programs of the same user on the same machine. Three checks enforce that. The
/// token is in a file that only those programs can read (`serve.json`). The client's address must
/// be loopback. Requests with fields that browsers send are refused: a page cannot read the file,
/// and its requests name their site.
struct ProgramDoor: Sendable {
    /// The first part of every path here.
    static let path = "api/"

    let control: Control
    let token: String

    /// Answers a request for `name` (the part behind `/_spool/`). On the loop only.
    ///
    /// - Precondition: The `Host` of the request is this proxy.
    func respond(to request: RequestHead, _ name: Substring, _ query: Substring, on exchange: Exchange) {
        if let (code, text) = refusal(of: request, exchange) { return exchange.respond(.refusal(code, text)) }
        guard name.hasPrefix(Self.path) else { return exchange.respond(.refusal(.unknownAction, "there is no command '/_spool/\(name)'")) }
        ControlVerb.run(name.dropFirst(Self.path.count), query, at: .program, control, on: exchange)
    }

    private func refusal(of request: RequestHead, _ exchange: Exchange) -> (RefusalCode, String)? {
        guard exchange.isFromThisMachine else { return (.notThisMachine, "commands are taken from this machine only") }
        if request.has(.origin) || request.has(.secFetchSite) || request.has(.referer) {
            return (.notAProgram, "commands are not taken from browsers")
        }
        guard let given = request[.authorization], constantTimeEqual(given, "Bearer \(token)") else {
            return (.notAProgram, "the token is that of another server; see serve.json in the store's directory")
        }
        return nil
    }
}
