package import SpoolCore
package import SpoolOrigin
import SpoolManifests

/// Another Spool that is asked before the origin: its address, and the decisions about requests to
/// it.
///
/// A pure value. `ParentTransport` acts on its decisions.
package struct ParentProxy: Hashable, Sendable {
    /// The beginning of every URL at the parent, with a slash at its end. It may contain a token.
    private let base: MediaURL

    /// The time in which the parent has to connect and to begin its answer. After it, the origin is
    /// asked as well.
    package static let connectTimeout: Nanoseconds = .seconds(2)

    /// The parent without its token, for logs.
    package var publicAddress: String { base.origin.description }

    /// Creates the parent at a URL, such as `http://10.0.0.5:8080/TOKEN/`.
    ///
    /// - Returns: Nil for anything but an `http` or `https` URL without user information, query and
    ///   fragment.
    package init?(_ text: String) {
        // The error of the parser says only that the text is no such URL.
        guard let given = try? MediaURL(text), given.userinfo == nil, given.query == nil, !text.contains("#") else { return nil }
        guard !given.path.hasSuffix("/"), let ended = try? MediaURL(text + "/") else {
            base = given
            return
        }
        base = ended
    }

    // MARK: Requests

    /// Returns the request for the parent, or nil for one that goes to the origin alone.
    ///
    /// The origin alone gets requests with another method than GET, with a field that may identify
    /// a user, and those whose redirect is the answer. The parent would rewrite a manifest for its
    /// own address, so manifests come from the origin too.
    package func request(for request: OriginRequest) -> OriginRequest? {
        let fields = request.fields
        guard request.method == "GET", request.body == nil, request.followsRedirects, let url = request.location, url.userinfo == nil,
            !RequestFields.mayIdentifyUser(fields), ManifestSuspicion(contentType: nil, url: url.text) != .named,
            let place = place(of: url)
        else { return nil }
        var asked = request
        asked.setLocation(place)
        asked.followsRedirects = false
        // The operator named the parent, so it may be anywhere.
        asked.reach = [OriginReach(named: [base.origin])]
        asked.connectTimeout = min(request.connectTimeout ?? Self.connectTimeout, Self.connectTimeout)
        // The origin itself is the second try.
        asked.lateAfter = nil
        // A revalidation is meant for the origin. Without `no-cache` the parent could answer it
        // from stored bytes.
        if fields[.ifNoneMatch] != nil || fields[.ifModifiedSince] != nil { asked.fields[.cacheControl] = "no-cache" }
        return asked
    }

    /// Returns the URL of a resource at the parent.
    private func place(of url: MediaURL) -> MediaURL? {
        let text = base.text + ProxiedPath.place(of: url)
        do { return try MediaURL(text) } catch {
            // Both parts were parsed before, so this is never reached. The origin would be asked.
            return nil
        }
    }

    // MARK: Answers

    /// The meaning of a response of the parent.
    package enum Verdict: Hashable, Sendable {
        /// It is the answer.
        case answer
        /// The origin has to be asked. The parent is well.
        case askOrigin
        /// The origin has to be asked, and the parent serves nobody: something before it answered,
        /// or it refuses this node.
        case refusal
    }

    /// Judges the head of a response to a request for `url`.
    package func judge(_ head: ResponseHead, of url: String) -> Verdict {
        // Responses about a resource have the field. An error of the parent itself, or of a
        // balancer before it, has none.
        guard head.fields.values(of: .cacheStatus).contains(where: { $0.hasPrefix("spool;") }) else { return .refusal }
        // The parent does not reach the origin. This node may.
        guard ProxyStatus.error(in: head.fields) == nil else { return .askOrigin }
        guard (200...299).contains(head.status) else { return .answer }
        return [.none, .unlikely].contains(ManifestSuspicion(contentType: head.fields[.contentType], url: url)) ? .answer : .askOrigin
    }
}
