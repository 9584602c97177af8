import SpoolCore

/// The flags that determine keys, for every command that takes a URL: which URLs mean the same
/// resource.
///
/// Each command on a store needs the same flags. A key that was made by a rule is only found by
/// that rule.
enum KeySettings {
    static let dropQuery = Flag(
        "drop-query", takes: "HOST=NAME,…",
        help:
            "Query items of HOST that do not belong to a resource's name, such as signatures: 'cdn.example.com=Expires,Signature'."
            + " '*' is every host or every item, '*.example.com' the hosts below that; may be repeated."
    ).repeatable
    static let sameHosts = Flag(
        "same-hosts", takes: "HOST,…",
        help: "Hosts that have the same content, such as those of a CDN: 'cdn.example.com,*.cdn.example.com'; may be repeated."
    ).repeatable

    static let asGiven = Flag(
        "as-given",
        help: "Take a URL as it is. Otherwise the URL of a proxy on this machine, such as http://127.0.0.1:8080/https/example.com/film.mp4,"
            + " stands for the URL in it.")

    static let all = [dropQuery, sameHosts]
    /// The flags of commands whose operands name resources.
    static let names = all + [asGiven]

    static func policy(_ arguments: Arguments) throws(UsageError) -> KeyPolicy {
        var policy = KeyPolicy()
        for text in arguments.all(dropQuery) {
            guard let longer = adding(query: text, to: policy) else {
                throw arguments.invalid(dropQuery, "can't be '\(text)'; it is HOST=NAME,NAME or HOST=*")
            }
            policy = longer
        }
        for text in arguments.all(sameHosts) {
            guard let hosts = list(text), hosts.count > 1, isName(hosts[0]), hosts.dropFirst().allSatisfy(isHost) else {
                throw arguments.invalid(sameHosts, "can't be '\(text)'; it is HOST,HOST… without ports, a plain name first")
            }
            policy = policy.sameHosts(hosts)
        }
        return policy
    }

    private static func adding(query text: String, to policy: KeyPolicy) -> KeyPolicy? {
        guard let equals = text.firstIndex(of: "="), let names = list(String(text[text.index(after: equals)...])) else { return nil }
        let host = String(text[..<equals])
        guard host == "*" || isHost(host) else { return nil }
        let hosts = host == "*" ? nil : [host]
        if names == ["*"] { return policy.dropAllQueryItems(forHosts: hosts) }
        return policy.dropQueryItems(named: names, forHosts: hosts)
    }

    /// Returns the words between commas, or nil when one is empty.
    private static func list(_ text: String) -> [String]? {
        let words = text.split(separator: "," as Character, omittingEmptySubsequences: false).map { String($0) }
        return words.contains("") ? nil : words
    }

    private static func isHost(_ text: String) -> Bool { isName(text.hasPrefix("*.") ? String(text.dropFirst(2)) : text) }

    /// Whether the text is a name or an address in URL form, without a port.
    private static func isName(_ text: String) -> Bool {
        guard !text.contains("*"), let key = try? ResourceKey(url: "http://\(text)/") else { return false }
        return key.string == "http://\(text.lowercased())/"
    }
}
