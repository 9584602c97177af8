import SpoolCore
import SpoolServer
import SpoolSystem

/// A player with settings of its own. It reaches the proxy by a random token of its own, so that
/// the segments of its playlists have the same settings.
///
/// The URLs serve as long as the visit lives.
package final class ProxyVisit: Sendable {
    private let token: String
    private let visits: ProxyVisits
    private let proxied: @Sendable (_ url: String, _ host: String?) -> String?

    /// - Parameter proxied: Returns the URL of a resource below the token at one of the proxy's hosts.
    init(token: String, visits: ProxyVisits, proxied: @escaping @Sendable (_ url: String, _ host: String?) -> String?) {
        self.token = token
        self.visits = visits
        self.proxied = proxied
    }

    deinit { visits.end(token) }

    /// Returns the URL by which the player gets a resource, or nil while the proxy does not listen
    /// and for a resource that it does not serve.
    ///
    /// - Parameter host: One of the proxy's `hosts`, or nil for the best one.
    package func url(for original: String, host: String? = nil) -> String? { proxied(original, host) }
}

/// A path of the proxy that answers with a word, for as long as this object lives.
package final class ProxyEcho: Sendable {
    /// The body of the answer.
    package let word: String
    private let token: String
    private let visits: ProxyVisits
    private let place: @Sendable (_ host: String) -> String?

    /// - Parameter place: Returns the URL of the path at one of the proxy's hosts.
    init(word: String, token: String, visits: ProxyVisits, place: @escaping @Sendable (_ host: String) -> String?) {
        self.word = word
        self.token = token
        self.visits = visits
        self.place = place
    }

    deinit { visits.end(token) }

    /// Returns the URL of the path at one of the proxy's `hosts`, or nil while it does not listen.
    package func url(host: String) -> String? { place(host) }
}

/// Answers every request with a word.
final class EchoHandler: Handler {
    private let word: String

    init(word: String) { self.word = word }

    func respond(to request: RequestHead, on exchange: Exchange) {
        var fields = HTTPFields()
        fields[.contentType] = "text/plain"
        fields[.cacheControl] = "no-store"
        exchange.respond(Response(200, fields: fields, body: .bytes(Array(word.utf8))))
    }
}

/// The handlers of the players with settings of their own: one for each loop of the proxy.
final class ProxyVisits: Sendable {
    private let routers = Locked<[String: [any Handler]]>([:])

    func begin(_ token: String, _ routers: [any Handler]) { self.routers.withLock { $0[token] = routers } }

    func end(_ token: String) { routers.withLock { $0[token] = nil } }

    /// Returns the router of a token on the loop with this position, or nil for another token.
    func router(of token: String, loop: Int) -> (any Handler)? { routers.withLock { $0[token]?[loop] } }
}

/// Sends each request on one loop to the router of its token.
final class VisitRouter: Handler {
    private let main: any Handler
    private let mainPrefix: String
    private let visits: ProxyVisits
    private let loop: Int

    init(main: any Handler, mainPrefix: String, visits: ProxyVisits, loop: Int) {
        self.main = main
        self.mainPrefix = mainPrefix
        self.visits = visits
        self.loop = loop
    }

    func respond(to request: RequestHead, on exchange: Exchange) { router(for: request).respond(to: request, on: exchange) }

    func bodySink(for request: RequestHead) -> (any BodySink)? { router(for: request).bodySink(for: request) }

    private func router(for request: RequestHead) -> any Handler {
        if request.path.hasPrefix(mainPrefix) { return main }
        let token = request.path.dropFirst().prefix { $0 != "/" && $0 != "?" }
        return visits.router(of: String(token), loop: loop) ?? main
    }
}
