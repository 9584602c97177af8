public import Foundation

/// A fresh URL for a resource, and when it expires.
public struct RenewedURL: Hashable, Sendable {
    /// The URL. It names the same bytes as the one before.
    public var url: URL
    /// When the URL expires, or nil for no known time.
    public var expires: Date?

    /// Creates a renewed URL.
    public init(_ url: URL, expires: Date? = nil) {
        self.url = url
        self.expires = expires
    }
}

/// Makes a fresh URL of one that expires, and calls `done` once, on any thread.
package typealias URLRenewal =
    @Sendable (_ url: URL, _ done: @escaping @Sendable (Result<RenewedURL, any Error>) -> Void) -> Void
