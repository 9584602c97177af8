import Spool
import SpoolCore
import SpoolOrigin
import SpoolServer
import SpoolSystem

/// The rules for requests that another proxy passed on. Their clients may be anybody, so they get
/// the service and none of the privileges of this machine.
///
/// A request shows by `X-Forwarded-For`, `Forwarded` or `X-Real-IP` that it was passed on. Download
/// helpers and tunnels send these fields too, so they are no error.
package final class Strangers: Sendable {
    private let cache: MediaCache
    private let pages: (any OwnPages)?
    /// Whether the options say that clients come through a proxy.
    private let isExpected: Bool
    /// Whether the proxy stands for one site in a private network. The path of another origin
    /// contains a proof then, which only a manifest of the site's network gives.
    private let standsForPrivateSite: Bool
    private let hasTold = Locked(false)

    /// Creates the rules.
    ///
    /// - Parameters:
    ///   - pages: The pages of the proxy, which get the notice, or nil.
    ///   - site: The site that the proxy stands for, or nil.
    init(cache: MediaCache, pages: (any OwnPages)?, isExpected: Bool, site: URIReference.Origin?) {
        standsForPrivateSite = site.map { PrivateNames.isInside($0.host) } ?? false
        self.cache = cache
        self.pages = pages
        self.isExpected = isExpected
    }

    /// The advice for an operator, in the notice and the log.
    package static let advice =
        "a request names the client of another proxy (X-Forwarded-For): if clients come through a proxy, give --behind-proxy;"
        + " until then such requests get no pages, no private addresses, and nothing that other users' credentials fetched"

    /// Returns whether a request is a stranger's. Gives the advice once if the options do not
    /// expect one.
    func sent(_ request: RequestHead) -> Bool {
        guard request.forwarding != nil else { return false }
        guard !isExpected else { return true }
        let isFirst = hasTold.withLock { !exchange(&$0, with: true) }
        if isFirst {
            cache.configuration.log?.log(.warning, Self.advice)
            pages?.note(Self.advice)
        }
        return true
    }

    /// Returns the reason why a stranger may not have a target, or nil.
    func refusal(of target: ProxyTarget, _ reach: OriginReach) -> String? {
        let flag = isExpected ? "" : "; see --behind-proxy"
        switch target {
        case .own(let path) where path.prefix(while: { $0 != "?" }) == "health": return nil
        case .own, .page: return "this page is not for clients of another proxy\(flag)"
        case .resource(let url, _):
            let host = url.origin.host
            guard !standsForPrivateSite, !reach.named.contains(url.origin), !cache.configuration.security.privateNames.allowStranger(host)
            else { return nil }
            return "\(url.origin) is private, and this request came through another proxy; allow it with --allow-private \(host)\(flag)"
        case .refused: return nil
        }
    }
}
