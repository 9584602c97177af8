import SpoolSystem

/// A server in this process that gives a cache's resources to players by URL; what an app hands to the AVFoundation door for HLS.
///
/// `SpoolProxy` implements it.
public protocol LoopbackEndpoint: AnyObject, Sendable {
    /// The URL by which a player on this device gets the resource, for example `http://127.0.0.1:8080/token/https/example.com/a.m3u8`.
    /// Nil while the endpoint does not listen, or for a URL that it can't serve.
    func url(for original: String) -> String?

    /// The URL by which another device in the local network gets the resource: an AirPlay receiver. It carries the endpoint's token.
    /// Nil unless the endpoint listens there, which an app has to ask for.
    func localNetworkURL(for original: String) -> String?
}

extension LoopbackEndpoint {
    /// An endpoint that listens on loopback only.
    public func localNetworkURL(for original: String) -> String? { nil }
}

extension MediaCache {
    /// The server to which players are sent for what the AVFoundation door can't give: playlists and their segments.
    ///
    /// Held weakly, since a server holds its cache: keep it as long as it shall serve. Nil until one is set.
    public var loopback: (any LoopbackEndpoint)? {
        get { attachments.object(LoopbackReference.self, make: LoopbackReference.init).endpoint }
        set { attachments.object(LoopbackReference.self, make: LoopbackReference.init).endpoint = newValue }
    }
}

/// Holds a cache's endpoint weakly.
private final class LoopbackReference: Sendable {
    private struct State {
        weak var endpoint: (any LoopbackEndpoint)?
    }

    private let state = Locked(State())

    var endpoint: (any LoopbackEndpoint)? {
        get { state.withLock { $0.endpoint } }
        set { state.withLock { $0.endpoint = newValue } }
    }
}
