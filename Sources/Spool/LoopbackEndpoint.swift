import SpoolSystem

/// A server in this process that serves the resources of a cache to players by URL. An app sets one
/// on the cache when it plays HLS through the AVFoundation door.
///
/// `SpoolProxy` implements it.
public protocol LoopbackEndpoint: AnyObject, Sendable {
    /// Returns the URL by which a player on this device gets a resource, for example
    /// `http://127.0.0.1:8080/token/https/example.com/a.m3u8`.
    ///
    /// - Parameter original: The URL of the resource at its origin.
    /// - Returns: The URL, or nil while the endpoint does not listen, or for a URL that it can't
    ///   serve.
    func url(for original: String) -> String?

    /// Returns the URL by which another device in the local network, such as an AirPlay receiver,
    /// gets a resource. The URL contains the token of the endpoint.
    ///
    /// - Parameter original: The URL of the resource at its origin.
    /// - Returns: The URL, or nil unless the endpoint listens there, which an app has to ask for.
    func localNetworkURL(for original: String) -> String?

    /// Checks the listener after the app returned from the background, and opens it again if the
    /// system closed it, as iOS does when it suspends an app.
    func appReturned()
}

extension LoopbackEndpoint {
    /// Returns nil: by default an endpoint listens on loopback only.
    public func localNetworkURL(for original: String) -> String? { nil }

    /// Does nothing by default.
    public func appReturned() {}
}

extension MediaCache {
    /// The server to which the AVFoundation door sends players for playlists and their segments,
    /// which it can't serve itself. Nil, until an app sets one.
    ///
    /// The cache holds the server weakly, because a server holds its cache. The app keeps it for as
    /// long as it is to serve.
    public var loopback: (any LoopbackEndpoint)? {
        get { loopbackReference.endpoint }
        set { loopbackReference.endpoint = newValue }
    }
}

/// Holds the endpoint of a cache weakly.
final class LoopbackReference: Sendable {
    private struct State {
        weak var endpoint: (any LoopbackEndpoint)?
    }

    private let state = Locked(State())

    var endpoint: (any LoopbackEndpoint)? {
        get { state.withLock { $0.endpoint } }
        set { state.withLock { $0.endpoint = newValue } }
    }
}
