package import SpoolServer
package import SpoolSystem

/// The pages, reports and commands below `/_spool/`, which a program adds to its proxy.
///
/// A proxy without them answers 404 there, as that of an app does.
package protocol OwnPages: AnyObject, Sendable {
    /// Answers a GET or HEAD request for `path`, the part behind `/_spool/`. On the loop only.
    func respond(to path: String, on exchange: Exchange)

    /// Answers a POST request, if there is a command with this path. On the loop only.
    ///
    /// - Precondition: The `Host` of the request is this proxy.
    /// - Returns: False for a path that takes no POST.
    func act(on path: String, exchange: Exchange) -> Bool

    /// Notes why the proxy refused a request, or an advice for the operator. On any thread.
    func note(_ refusal: String)

    /// Called by a loop of the proxy every `ProxyPlace.turnSeconds`.
    func turn()

    /// Ends all streams, because the proxy stops.
    func end()
}

/// The place of the pages of a running proxy.
package struct ProxyPlace: Sendable {
    /// The seconds between two calls of `OwnPages.turn()`.
    package static let turnSeconds: Int64 = 10

    /// The beginning of every path at the proxy: a slash, or `/TOKEN/` with a token.
    package let prefix: String
    /// The longest times of the proxy's event loops.
    package let loops: [LoopTimes]
    /// Passes the counters of the proxy's loops to a closure, on the first of them. A proxy that has
    /// stopped has none.
    package let countersByLoop: @Sendable (@escaping @Sendable ([ServerCounters]) -> Void) -> Void
    /// Returns the path by which a resource plays through the proxy, or nil for one that the proxy
    /// does not serve.
    package let playPath: @Sendable (_ url: String) -> String?
}
