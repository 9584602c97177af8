import SpoolCore
import SpoolSystem

/// What the door remembers beside a cache, for all its assets, as long as the cache lives.
final class DoorState: Sendable {
    /// Resources that are remembered to have fallen back, and kinds that were learnt; the oldest are forgotten. A few hundred bytes each.
    static let maxRemembered = 256

    private struct State {
        var fallbacks = Remembered<FallbackReason>()
        var extensions = Remembered<String>()
        var hungry: Set<ObjectIdentifier> = []
        var loading: [ObjectIdentifier: any LoadingParty] = [:]
    }

    private let state = Locked(State())

    // MARK: Falling back

    /// The reason for which the resource's last asset was sent to the original URL, if it was.
    func fallback(of key: ResourceKey) -> FallbackReason? { state.withLock { $0.fallbacks.values[key] } }

    func remember(_ reason: FallbackReason, for key: ResourceKey) { state.withLock { $0.fallbacks.note(reason, key) } }

    /// Lets the resource be tried through the cache again.
    func forgetFallback(of key: ResourceKey) { state.withLock { $0.fallbacks.forget(key) } }

    // MARK: Kinds

    /// The extension that fits what the resource turned out to be.
    func fileExtension(of key: ResourceKey) -> String? { state.withLock { $0.extensions.values[key] } }

    func learn(fileExtension: String, of key: ResourceKey) { state.withLock { $0.extensions.note(fileExtension, key) } }

    // MARK: Who waits

    /// An item that plays waits for bytes, or does so no longer.
    func note(_ loader: AnyObject, isHungry: Bool) {
        let id = ObjectIdentifier(loader)
        state.withLock { state in
            if isHungry { state.hungry.insert(id) } else { state.hungry.remove(id) }
        }
    }

    /// A loader has requests open, or has them no longer.
    func note(_ loader: any LoadingParty, isLoading: Bool) {
        let id = ObjectIdentifier(loader)
        state.withLock { $0.loading[id] = isLoading ? loader : nil }
    }

    /// Whether any player waits for bytes of this cache.
    var isAnyoneLoading: Bool { state.withLock { !$0.loading.isEmpty } }

    /// What waits to be tried again is tried now.
    func tryAgain() {
        for loader in state.withLock({ Array($0.loading.values) }) { loader.tryAgainSoon() }
    }

    /// Whether any item that plays waits for bytes: later ones let it go first.
    var isAnyoneHungry: Bool { state.withLock { !$0.hungry.isEmpty } }
}

/// Somebody who loads, and is held only while it does.
protocol LoadingParty: AnyObject, Sendable {
    /// Tries at once what waits to be tried again; from any thread.
    func tryAgainSoon()
}

/// Facts about resources, of which the oldest are forgotten.
private struct Remembered<Fact> {
    private(set) var values: [ResourceKey: Fact] = [:]
    private var order: [ResourceKey] = []

    mutating func note(_ fact: Fact, _ key: ResourceKey) {
        if values.updateValue(fact, forKey: key) == nil { order.append(key) }
        if order.count > DoorState.maxRemembered { values[order.removeFirst()] = nil }
    }

    mutating func forget(_ key: ResourceKey) {
        if values.removeValue(forKey: key) != nil { order.removeAll { $0 == key } }
    }
}
