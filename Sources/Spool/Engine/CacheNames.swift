import SpoolSystem

/// The pseudonyms of a cache, made when one is first needed.
final class CacheNames: Sendable {
    private let state = Locked<(pseudonyms: Pseudonyms?, areInVia: Bool)>((nil, false))
    private let make: @Sendable () -> Pseudonyms

    init(_ make: @escaping @Sendable () -> Pseudonyms) { self.make = make }

    var pseudonyms: Pseudonyms {
        state.withLock { state in
            let pseudonyms = state.pseudonyms ?? make()
            state.pseudonyms = pseudonyms
            return pseudonyms
        }
    }

    /// The names in the `Via` of requests to origins, or nil if no gateway uses them.
    var inVia: Pseudonyms? { state.withLock { $0.areInVia ? $0.pseudonyms : nil } }

    /// Makes requests to origins name this cache in `Via` from now on (RFC 9110 §7.6.3), so that a
    /// loop is noticed. A gateway calls it before its first request. All gateways of a cache have
    /// the same names.
    func nameInVia() -> Pseudonyms {
        state.withLock { $0.areInVia = true }
        return pseudonyms
    }
}
