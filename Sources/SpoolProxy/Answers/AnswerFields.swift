import Spool
import SpoolCore
import SpoolServer

/// Makes the fields of the response to a query.
struct AnswerFields {
    let query: ResourceQuery
    let rules: ResourceFields
    /// The memory about manifests, whose cookies their children need.
    let manifests: ManifestDoor
    let now: Timestamp

    /// Returns the fields of a representation.
    ///
    /// - Parameters:
    ///   - coverage: How much of the response was stored when the request came.
    ///   - reader: The reader of the response.
    ///   - isForced: Whether the client demanded that the origin is asked.
    func content(
        of representation: Representation, _ coverage: SessionReader.Coverage, by reader: SessionReader?, isForced: Bool,
        for request: RequestHead
    ) -> HTTPFields {
        let source: CacheStatus.Source =
            switch coverage {
            case .complete where reader?.wasValidated == true: .forwarded(isForced ? .request : .stale)
            case .complete: .hit
            case .partial: .forwarded(.partial)
            case .none: .forwarded(.uriMiss)
            }
        let rules = rules.of(representation)
        var own = reader?.takeAskersFields() ?? [:]
        var cookies = own.values(of: .setCookie)
        own[.setCookie] = nil
        // Another origin, to which redirects led, sets no cookies of this one.
        if let final = representation.finalOrigin, final != query.url.origin.description { cookies = [] }
        if !rules.isSite, !query.isForProgram { cookies = manifests.cookies(cookies, from: query.url, for: request) }
        let isOther = !representation.isContent && !(reader?.foundVersion != false)
        var fields = rules.content(
            of: representation, source, isCollapsed: coverage == .none && reader?.hasAsked == false, own: own, cookies: cookies,
            forwardStatus: isOther ? representation.status : nil)
        if !rules.isSite, let location = fields[.location] { fields[.location] = absolute(location, in: representation) }
        fields[.age] = String(representation.currentAge(now: now))
        if query.isForProgram { fields[Representation.finalURLField] = representation.finalURL }
        return fields
    }

    /// Returns the URL that a `Location` names at the origin, or nil for a text that names none. At
    /// this proxy, a relative one would lead elsewhere.
    private func absolute(_ location: String, in representation: Representation) -> String? {
        let base = representation.finalURL ?? representation.finalOrigin ?? query.url.text
        do { return try URIReference(lenient: base).resolving(lenient: location).text } catch { return nil }
    }
}
