package import SpoolCore

/// Decides for each response whether and where a request goes on (RFC 9110 §15.4).
///
/// It is a pure value without clock or connection. The method is GET, so all five redirects mean
/// the same here: ask at the other URL, for the same range under the same condition.
package struct RedirectPolicy: Sendable {
    /// The handling of a response.
    package enum Decision: Hashable, Sendable {
        /// The response is the answer. Its head has the URL that it came from.
        case pass(ResponseHead)
        /// The response is a redirect: send this request next.
        case follow(OriginRequest)
        /// The response is a redirect that is not followed.
        case refuse(OriginError)
    }

    /// The most redirects of one request, as in browsers. Media origins use one or two.
    package static let maxHops = 20

    /// Returns whether a field may go to any origin. Every other field was meant for the first
    /// origin, because credentials have many names.
    private static func isHarmless(_ name: String) -> Bool {
        let name = name.asciiLowercased
        return name.hasPrefix("if-") || RequestFields.mayCrossOrigins(name) || ["cache-control", "pragma", "range", "via"].contains(name)
    }

    private let privateNames: PrivateNames
    /// Returns further fields for requests to a URL, whichever origin redirects there.
    private let fieldsForURL: (@Sendable (String) -> HTTPFields)?
    private var request: OriginRequest
    /// Every request that was sent: its URL without fragment, and its cookies.
    private var asked: [Asked]
    /// The cookies that came with the request, or that belong to the present origin.
    private var givenCookie: String?
    /// The cookies that the redirects have set.
    private var cookies = ChainCookies()
    /// The web site that sent the request, once a redirect to another origin has hidden it.
    private var hiddenSite: String?

    /// Creates the policy for one request.
    package init(
        _ request: OriginRequest, privateNames: PrivateNames = .allowed, fieldsForURL: (@Sendable (String) -> HTTPFields)? = nil
    ) {
        self.privateNames = privateNames
        self.fieldsForURL = fieldsForURL
        self.request = request
        givenCookie = request.fields[.cookie]
        asked = [Asked(url: Self.withoutFragment(request.url), cookie: request.fields[.cookie])]
    }

    private struct Asked: Hashable {
        var url: String
        var cookie: String?
    }

    /// Takes the head of the response to the last request.
    package mutating func headReceived(_ head: ResponseHead) -> Decision {
        // The user information was sent by Basic, which the origin does not take.
        if head.status == 401, !request.answersDigest, request.location?.userinfo != nil, head.fields.demandsDigest {
            request.answersDigest = true
            return .follow(request)
        }
        guard StatusRules.isRedirect(head.status), let location = head.fields[.location] else {
            var head = head
            if asked.count > 1 { head.url = request.url }
            // A browser that followed the redirect itself would find here the origin that it had
            // sent.
            if let hiddenSite, head.fields[.accessControlAllowOrigin] == "null" { head.fields[.accessControlAllowOrigin] = hiddenSite }
            return .pass(head)
        }
        if let url = request.location { cookies.take(head, from: url) }
        do {
            request = try next(location)
        } catch {
            return .refuse(error)
        }
        return .follow(request)
    }

    private mutating func next(_ location: String) throws(OriginError) -> OriginRequest {
        let url = try Self.resolve(location, against: request.url)
        guard let from = request.location?.origin else { throw .redirect("the request has no http or https URL") }
        let to = url.origin
        guard to.scheme == "https" || from.scheme == "http" else {
            throw .notAsked(url: url.text, "the origin points from https to http, so the player asks there by itself")
        }
        if let refusal = ReferenceTrust(privateNames: privateNames, reaches: request.reach).refusal(from: from, to: to) {
            throw .notAsked(url: url.text, refusal)
        }
        var fields = request.fields
        if from != to {
            fields = fieldsForOtherOrigin(url.text)
            givenCookie = fields[.cookie]
        }
        if cookies.wereSet { fields[.cookie] = cookies.field(for: url, besides: givenCookie) }
        let asking = Asked(url: url.text, cookie: fields[.cookie])
        guard !asked.contains(asking) else { throw .redirect("the origin points in a circle") }
        guard asked.count <= Self.maxHops else { throw .redirect("more than \(Self.maxHops) redirects") }
        asked.append(asking)
        // A copy keeps every member that has no reason to change: patience, bounds and urgency.
        var next = request
        next.setLocation(url)
        next.fields = fields
        if from != to { next.signature = nil }
        next.answersDigest = false
        return next
    }

    private static func resolve(_ location: String, against url: String) throws(OriginError) -> MediaURL {
        let target: URIReference
        do {
            target = try URIReference(lenient: withoutFragment(URIReference(lenient: url).resolving(lenient: location).text))
        } catch {
            throw .redirect("the origin's Location can't be read: \(error)")
        }
        do { return try MediaURL(target) } catch {
            throw .redirect("the origin points to something else than an http or https URL")
        }
    }

    /// Returns the fields that another origin may see (RFC 9110 §15.4). A dropped field stays
    /// dropped when a later hop leads back, because the other origin chose that hop.
    ///
    /// `Origin` becomes `null`, as in a browser that follows such a redirect (Fetch, "HTTP-redirect
    /// fetch"). The other origin still has a field to answer, and does not learn the site.
    private mutating func fieldsForOtherOrigin(_ url: String) -> HTTPFields {
        var fields = HTTPFields(request.fields.lines.filter { Self.isHarmless($0.name) })
        if let site = request.fields[.origin] {
            hiddenSite = hiddenSite ?? site
            fields[.origin] = "null"
        }
        if let own = fieldsForURL?(url) { fields = fields.replacing(with: own) }
        return fields
    }

    private static func withoutFragment(_ url: String) -> String {
        url.utf8.firstIndex(of: UInt8(ascii: "#")).map { String(url[..<$0]) } ?? url
    }
}

extension HTTPFields {
    /// Whether a 401 asks for Digest and not for Basic (RFC 9110 §11.6.1).
    var demandsDigest: Bool {
        let challenges = values(of: .wwwAuthenticate).flatMap { $0.split(separator: ",") }.map { $0.drop { $0 == " " }.asciiLowercased }
        return challenges.contains { $0.hasPrefix("digest ") } && !challenges.contains { $0.hasPrefix("basic") }
    }
}
