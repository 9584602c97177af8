import SpoolCore

/// The flag for hosts with unreliable validators, which sets how versions are distinguished
/// (docs/freshness.md).
enum IdentitySettings {
    static let identity = Flag(
        "identity", takes: "HOST=RULE",
        help:
            "How to recognise two answers of HOST as the same version: 'validator' (the default), 'length-and-date' for servers that tag the same file"
            + " differently, or 'length' for files that never change; if they do change, bytes of two versions may mix. '*' is every other"
            + " host; may be repeated."
    ).repeatable

    static func read(_ arguments: Arguments) throws(UsageError) -> [String: Identity] {
        var identities: [String: Identity] = [:]
        for text in arguments.all(identity) {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2, let rule = rules[parts[1]], !parts[0].contains("/") else {
                throw arguments.invalid(identity, "can't be '\(text)'; it is HOST=validator, HOST=length-and-date or HOST=length")
            }
            identities[parts[0].lowercased()] = rule
        }
        return identities
    }

    private static let rules: [String: Identity] = ["validator": .validator, "length-and-date": .lengthAndLastModified, "length": .length]
}
