import SpoolCore
import SpoolDASH
import SpoolManifests

/// The URLs of a proxy in its path form, and the way back.
enum TestProxy {
    static let root = "http://127.0.0.1:8080/TOKEN/"

    /// The proxy's URL of an origin's resource; nil for other schemes.
    static func url(_ original: String) -> String? {
        guard let uri = try? URIReference(original), let origin = uri.origin, ["http", "https"].contains(origin.scheme) else { return nil }
        return "\(root)\(origin.scheme)/\(origin.authority)\(uri.path.isEmpty ? "/" : uri.path)\(uri.query.map { "?\($0)" } ?? "")"
    }

    /// The resource that a proxy's URL means; nil for another URL.
    static func original(_ url: String) -> String? {
        guard url.hasPrefix(root) else { return nil }
        let rest = url.dropFirst(root.count)
        guard let slash = rest.firstIndex(of: "/") else { return nil }
        return "\(rest[..<slash])://\(rest[rest.index(after: slash)...])"
    }

    /// The URL in the form in which a server is asked.
    static func asked(_ url: String) -> String? {
        self.url(url).flatMap(original)
    }

    /// Rewrites a document as the HTTP door does. Returns nil when it passes the document on.
    static func rewritten(_ bytes: [UInt8], at url: String) throws -> [UInt8]? {
        guard let contents = try DASHManifest.contents(of: bytes, at: url) else { return nil }
        return try ManifestReader().rewritten(bytes, contents) { reference in
            guard let target = reference.url.flatMap(Self.url) else { return nil }
            return reference.role == .fragment ? target : String(target.dropFirst("http://127.0.0.1:8080".count))
        }
    }
}
