package import Foundation

/// The credentials in a URL, `https://user:password@host/`, as a field for HTTP's Basic scheme (RFC
/// 7617).
///
/// `URLSession` uses them only to answer a challenge, and its delegate refuses those, so that a 401
/// is the answer.
package enum BasicCredentials {
    /// Returns the value of `Authorization` for a URL, or nil for one without credentials.
    package static func field(for url: URL) -> String? {
        guard let user = url.user, !user.isEmpty || url.password != nil else { return nil }
        // Foundation returns both percent-decoded on some systems, and as they are on others.
        let parts = [user, url.password ?? ""].map { $0.removingPercentEncoding ?? $0 }
        return "Basic " + Data(parts.joined(separator: ":").utf8).base64EncodedString()
    }
}
