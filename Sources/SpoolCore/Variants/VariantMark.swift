/// The record of the requests that a stored response answers.
///
/// A response answers a request whose selecting fields have the same values (RFC 9111 §4.1), on
/// behalf of a user whom the origin let have it. The mark keeps digests of values and credentials,
/// never the values. A response without a mark answers every request.
package struct VariantMark: Hashable, Sendable {
    /// The selecting fields, in lower case and sorted. `*` stands for a response that answers one
    /// request only.
    package var names: [String] = []
    /// The digests of the values that the response answers, oldest first. Empty when the request
    /// that fetched it is not known.
    package var values: [String] = []
    /// The digests of the credentials that the origin let have the response, oldest first. Empty
    /// when everybody may have it.
    package var users: [String] = []
    /// Whether even the only user of a cache needs the origin's leave for other credentials.
    package var isPersonal = false
    /// Whether the origin allows everybody to have the response whatever `Authorization` and
    /// `Cookie` were (RFC 9111 §3.5).
    package var servesAll = false

    /// The most values that a variant answers. The oldest goes.
    package static let valueLimit = 16
    /// The most users that a variant is open to. The oldest goes and is asked for again.
    package static let userLimit = 64

    /// A digest that no credentials have. It keeps the list from being empty.
    private static let noUser = "!"
    /// The digest that stands for a request without credentials.
    package static let nobody = "-"
    /// The beginning of the digests of users that other fields do not tell apart, because `Vary`
    /// names those that matter.
    static let variedUser = "~"

    /// Creates a mark that names no field.
    package init() {}

    /// Creates the mark of a response, or nil when it answers every request.
    ///
    /// - Parameters:
    ///   - fields: The fields of the response.
    ///   - isRefusal: Whether the response refuses the resource to the credentials of the request.
    ///   - client: The request, or nil when its client is not known.
    ///   - isShared: Whether the cache serves several users. A client that counts as one of several
    ///     has precedence.
    ///   - silent: The fields that select besides those that `Vary` names.
    package init?(
        of fields: HTTPFields, isRefusal: Bool = false, for client: ClientSelection?, isShared: Bool, silent: [String] = []
    ) {
        let isShared = isShared || client?.isShared == true
        let control = CacheControl(response: fields, isShared: isShared)
        let varied = Self.varied(by: fields)
        let variesByUser = varied.contains { Self.ofUsers.contains($0) }
        let isForOne = varied.contains("*") || (isShared && control.private == .response)
        isPersonal = variesByUser || isRefusal || control.private == .response || control.noCache == .response
        servesAll = !variesByUser && !isRefusal && (control.public || control.sMaxAge != nil)
        // The origin opens the response to other credentials, and does not state that other fields
        // leave it alone. One user must not choose the bytes of all others by a field of theirs.
        let isSilent = isShared && servesAll && !fields.contains(.vary)
        let unknown = isSilent ? client?.fields.unknownNames(besides: Self.ofUsers) ?? [] : []
        let listed = varied.filter { !Self.ofUsers.contains($0) } + unknown
        names = isForOne ? ["*"] : listed + silent.filter { !listed.contains($0) }
        if let client {
            if !names.isEmpty { values = [client.valuesDigest(of: names)] }
            // `Vary` states which fields of unknown meaning matter.
            let isVaried = isShared && !isRefusal && fields.contains(.vary)
            let isForUser = isVaried ? client.looksAuthorized : client.hasCredentials
            if variesByUser || isRefusal || (isForUser && !servesAll) {
                users = [isVaried ? client.variedUserDigest : client.userDigest]
            }
        } else if variesByUser {
            names = varied
        }
        if names.isEmpty && users.isEmpty { return nil }
    }

    /// The names in `Vary` that can differ between two clients. `Accept-Encoding` is the cache's
    /// own, and `Origin` selects cross-origin fields only.
    private static func varied(by fields: HTTPFields) -> [String] {
        let unnamed = mayHaveTitles(fields) ? ["icy-metadata"] : []
        return Set(fields.names(listedIn: .vary).filter { $0 == "*" || RequestFields.isForwarded($0) } + unnamed).sorted()
    }

    /// Whether the origin puts titles between the bytes for clients that send `Icy-MetaData`, or
    /// could do so: radio servers do not name that field in `Vary`.
    private static func mayHaveTitles(_ fields: HTTPFields) -> Bool {
        if fields.contains(.icyMetaInt) { return true }
        let isLive = !fields.contains(.contentLength) && !fields.contains(.contentRange)
        return isLive && fields.lines.contains { $0.name.asciiLowercased.hasPrefix("icy-") }
    }

    /// The selecting fields that stand for the user. They are compared with all other credentials,
    /// so that the origin is asked when one of them changes.
    private static let ofUsers: Set<String> = ["authorization", "cookie"]

    // MARK: Selecting

    /// The use of a stored response for one request.
    package enum Verdict: Hashable, Sendable {
        /// It answers the request.
        case use
        /// The origin has to be asked first. Out of reach of the origin, the only user of a cache
        /// may use it.
        case ask
        /// It answers other requests.
        case other
    }

    /// Returns whether the response answers the request of `client`.
    package func verdict(for client: ClientSelection) -> Verdict {
        if !names.isEmpty {
            // `*` is the digest of one request alone.
            if values.isEmpty { return names.contains("*") ? .other : client.sendsNone(of: names) ? .use : .ask }
            guard values.contains(client.valuesDigest(of: names)) else { return .other }
        }
        if users.isEmpty || servesAll || (!client.isShared && !isPersonal) { return .use }
        return users.contains(client.userDigest) || users.contains(client.variedUserDigest) ? .use : .ask
    }

    /// Whether a short path may use the response without comparing requests.
    package func isOpen(isShared: Bool) -> Bool {
        names.isEmpty && (users.isEmpty || servesAll || (!isShared && !isPersonal))
    }

    // MARK: Admitting

    /// Lets the request of `client` have the response, because the origin confirmed it for that
    /// request.
    package mutating func admit(_ client: ClientSelection) {
        guard !names.contains("*") else { return }
        if !names.isEmpty { values = Self.adding(client.valuesDigest(of: names), to: values, limit: Self.valueLimit) }
        guard !users.isEmpty else { return }
        let isVaried = users.contains { $0.hasPrefix(Self.variedUser) }
        users = Self.adding(isVaried ? client.variedUserDigest : client.userDigest, to: users, limit: Self.userLimit)
    }

    /// Takes the response from the credentials of `client`, because the origin refused it to them.
    package mutating func revoke(_ client: ClientSelection) {
        let rest = users.filter { $0 != client.userDigest && $0 != client.variedUserDigest }
        guard rest.count < users.count else { return }
        users = rest
        if users.isEmpty { users = [Self.noUser] }
    }

    /// Returns the mark of a version after the origin confirmed it by another response.
    ///
    /// - Parameters:
    ///   - known: The mark of the version so far.
    ///   - newer: The mark of the confirming response.
    package static func merged(_ known: VariantMark?, with newer: VariantMark?) -> VariantMark? {
        // A version that was open to everybody stays open, unless its selecting fields are new or
        // it is for one user now.
        guard let known else { return newer.map { $0.names.isEmpty && !$0.isPersonal } ?? true ? nil : newer }
        guard var result = newer, result.names == known.names else { return newer }
        result.values = result.values.reduce(known.values) { adding($1, to: $0, limit: valueLimit) }
        // The origin sends to every client what it sent without credentials.
        let isOpen = result.users.isEmpty || (known.users.isEmpty && !known.values.isEmpty)
        result.users = isOpen ? [] : result.users.reduce(known.users) { adding($1, to: $0, limit: userLimit) }
        return result
    }

    private static func adding(_ digest: String, to list: [String], limit: Int) -> [String] {
        Array((list.filter { $0 != digest } + [digest]).suffix(limit))
    }
}
