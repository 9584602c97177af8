/// The field `CDN-Cache-Control`, by which an origin addresses shared caches in front of it
/// (RFC 9213).
///
/// It is a dictionary of structured fields (RFC 8941 §3.2). A shared cache that can parse it ignores
/// `Cache-Control` and `Expires`.
package enum TargetedCacheControl {
    /// The directives for a shared cache.
    /// - Returns: nil if the field is absent, empty or malformed. `Cache-Control` counts then.
    package static func directives(_ fields: HTTPFields) -> [CacheControl.Directive]? {
        guard let value = fields.combined(.cdnCacheControl) else { return nil }
        guard let dictionary = StructuredDictionary(value), !dictionary.members.isEmpty else { return nil }
        return dictionary.members.compactMap(directive)
    }

    /// A directive whose value has another type than RFC 9111 gives it is ignored.
    private static func directive(_ member: StructuredDictionary.Member) -> CacheControl.Directive? {
        let takesSeconds = ["max-age", "s-maxage", "stale-while-revalidate", "stale-if-error"].contains(member.key)
        switch member.value {
        case .integer(let number) where takesSeconds: return .init(name: member.key, argument: String(max(0, number)))
        case .flag(true) where !takesSeconds: return .init(name: member.key, argument: nil)
        case .string(let text) where !takesSeconds: return .init(name: member.key, argument: text)
        default: return nil
        }
    }
}
