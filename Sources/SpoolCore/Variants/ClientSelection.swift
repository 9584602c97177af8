/// The parts of one client's request by which stored responses are selected.
package struct ClientSelection: Sendable {
    /// The fields that the client sends to the origin.
    package let fields: RequestFields
    /// A random number of this request alone, which stands for it under `Vary: *`.
    package let nonce: UInt64
    /// Whether the request has credentials.
    package let hasCredentials: Bool
    /// Whether several users share what is stored, from this request's point of view.
    package let isShared: Bool
    /// The digest of the credentials.
    package let userDigest: String
    private let userinfo: Substring?
    private let digest: @Sendable (String) -> String

    /// Creates the selection of a request.
    ///
    /// - Parameters:
    ///   - userinfo: The user information of the URL, which is a credential as well.
    ///   - isShared: Whether the cache serves several users, or counts this client as one of
    ///     several.
    ///   - digest: Returns a keyed digest of a text, as hexadecimal digits.
    package init(
        _ fields: RequestFields, userinfo: Substring? = nil, nonce: UInt64, isShared: Bool, digest: @escaping @Sendable (String) -> String
    ) {
        self.fields = fields
        self.nonce = nonce
        self.isShared = isShared
        self.digest = digest
        self.userinfo = userinfo
        let credentials = fields.credentialText(isShared: isShared)
        hasCredentials = !credentials.isEmpty
        userDigest = Self.digest(of: credentials, userinfo, digest)
    }

    /// The digest of the fields that look like credentials. It stands for the user of a response
    /// whose `Vary` names the other fields that matter. No `userDigest` is equal to it.
    var variedUserDigest: String {
        VariantMark.variedUser + Self.digest(of: fields.credentialText(isShared: false), userinfo, digest)
    }

    private static func digest(of credentials: String, _ userinfo: Substring?, _ digest: (String) -> String) -> String {
        let text = (userinfo.map { "userinfo:\($0)\n" } ?? "") + credentials
        return text.isEmpty ? VariantMark.nobody : digest("user\n\(text)")
    }

    /// Whether the request has fields that look like credentials.
    var looksAuthorized: Bool { !fields.credentialText(isShared: false).isEmpty }

    /// The digest of the values of the named fields, and of the names.
    func valuesDigest(of names: [String]) -> String {
        if names.contains("*") { return digest("request \(nonce)\n") }
        return digest("values\n" + names.map { "\($0):\(fields.fields.selectingValue(of: $0) ?? "\u{0}")\n" }.joined())
    }

    /// Whether the request has none of the named fields.
    func sendsNone(of names: [String]) -> Bool { names.allSatisfy { fields.fields[$0] == nil } }

    /// A digest that is equal for two requests that the same responses answer, as far as these
    /// names tell.
    package func variantDigest(of names: [String]) -> String { "\(valuesDigest(of: names)) \(userDigest)" }
}

extension HTTPFields {
    /// The value of a selecting field in a normal form, or nil when the field is absent (RFC 9111
    /// §4.1).
    ///
    /// Several lines are one list. White space around commas does not count outside quotes. The
    /// preferences of content negotiation compare without regard to case and order, because neither
    /// has a meaning there (RFC 9110 §12.4.2, §12.5).
    func selectingValue(of name: String) -> String? {
        guard let value = combined(Name(name)) else { return nil }
        guard !value.utf8.contains(UInt8(ascii: "\"")) else { return value }
        let members = value.split(separator: ",", omittingEmptySubsequences: false).map(\.withoutBlanks)
        guard name.hasPrefix("accept") else { return members.joined(separator: ",") }
        return members.map { $0.filter { $0 != " " && $0 != "\t" }.asciiLowercased }.filter { !$0.isEmpty }.sorted().joined(separator: ",")
    }
}
