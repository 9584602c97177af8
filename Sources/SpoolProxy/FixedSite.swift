import SpoolCore
import SpoolServer
import SpoolOrigin

/// The one site that a proxy answers for: which requests it passes on, and what their fields become on the way.
struct FixedSite: Sendable {
    /// `scheme://authority`
    let origin: String
    /// What every path at this proxy begins with: a slash, with a token `/TOKEN/`.
    let prefix: String
    /// This proxy in `Via`.
    let via: String

    /// Whether the request goes to the origin itself instead of being answered by the cache.
    func passesOn(_ request: RequestHead) -> Bool {
        switch request.method {
        // A tunnel is not for a site to open, and an echo would show fields that a page must not see (RFC 9110 §9.3.8).
        case "CONNECT", "TRACE": false
        case "GET", "HEAD": request.has("Authorization") || request.has("Cookie")
        default: true
        }
    }

    /// Whether a method changes nothing at the origin (RFC 9110 §9.2.1).
    func isSafe(_ method: String) -> Bool { ["GET", "HEAD", "OPTIONS", "TRACE"].contains(method) }

    // MARK: Fields

    /// What belongs to one connection, or is for the transport to say (RFC 9110 §7.6.1).
    private static let ofConnection: Set<String> = [
        "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "proxy-connection", "proxy-authorization",
        "proxy-authenticate", "content-length", "expect", "host", "via", "accept-encoding",
    ]

    /// The request's fields as the origin gets them. A page that was loaded from here says so in `Origin` and `Referer`; to the origin that
    /// is its own site.
    func fieldsForOrigin(_ request: RequestHead) -> HTTPFields {
        let fields = request.fields
        let dropped = Self.ofConnection.union(Self.listed(in: fields))
        let own = request.authority.map { "http://\($0)" }
        var result = HTTPFields(
            fields.lines.filter { !dropped.contains($0.name.asciiLowercased) }.map { field in
                guard let own, field.name.equalsIgnoringCase("Origin") || field.name.equalsIgnoringCase("Referer") else { return field }
                guard field.value == own || field.value.hasPrefix(own + "/") else { return field }
                return .init(name: field.name, value: origin + withoutPrefix(field.value.dropFirst(own.count)))
            })
        // One list, whose last member is the last who passed the message on (RFC 9110 §7.6.3).
        result.append("Via", (fields.values(of: "Via") + [via]).joined(separator: ", "))
        return result
    }

    /// The answer's fields as the client gets them: `Set-Cookie` is for this client, and a `Location` at the origin is here.
    func fieldsForClient(_ head: ResponseHead, _ request: RequestHead) -> HTTPFields {
        let dropped = Self.ofConnection.union(Self.listed(in: head.fields))
        return HTTPFields(
            head.fields.lines.filter { !dropped.contains($0.name.asciiLowercased) }.map { field in
                guard field.name.equalsIgnoringCase("Location") || field.name.equalsIgnoringCase("Content-Location") else { return field }
                return .init(name: field.name, value: pathHere(field.value) ?? field.value)
            })
    }

    private static func listed(in fields: HTTPFields) -> Set<String> {
        let options = fields.values(of: "Connection").flatMap { $0.split(separator: ",") }
        return Set(options.map { String($0.filter { $0 != " " && $0 != "\t" }).asciiLowercased })
    }

    /// The path under which a URL of the origin is found at this proxy; nil for another site's and for a relative one, which stays.
    private func pathHere(_ url: String) -> String? {
        guard let reference = try? URIReference(lenient: url), reference.origin?.description == origin else { return nil }
        // Two slashes at the beginning would name another host.
        let path = prefix == "/" && reference.path.hasPrefix("//") ? "./" + reference.path.dropFirst() : reference.path.dropFirst()
        return prefix + path + (reference.query.map { "?\($0)" } ?? "")
            + (reference.fragment.map { "#\($0)" } ?? "")
    }

    /// A path at this proxy as it is at the origin: the token is this proxy's own.
    private func withoutPrefix(_ path: Substring) -> Substring {
        if path.hasPrefix(prefix) { return path.dropFirst(prefix.count - 1) }
        return !path.isEmpty && path + "/" == prefix ? "/" : path
    }

    // MARK: Invalidation

    /// The URLs that a change by this answer makes doubtful: the one that was asked, and of this site those that it names.
    func changedURLs(by head: ResponseHead, to url: String) -> [String] {
        guard let base = try? URIReference(lenient: url) else { return [url] }
        var changed = [url]
        for name in ["Location", "Content-Location"] {
            // A place that can't be read is nowhere.
            guard let location = head.fields[name], let place = try? base.resolving(location: location) else { continue }
            if place.origin == base.origin { changed.append(place.text) }
        }
        return changed
    }
}
