import SpoolCore
import SpoolSystem

/// The state that all assets of a cache share, for as long as the cache lives.
final class DoorState: Sendable {
    /// The largest number of remembered fallbacks, and of remembered file extensions. The oldest
    /// are dropped. Each takes a few hundred bytes.
    static let maxRemembered = 256

    private struct State {
        var fallbacks = Remembered<FallbackReason>()
        var extensions = Remembered<String>()
        var hungry: Set<ObjectIdentifier> = []
        var loading: [ObjectIdentifier: any LoadingParty] = [:]
    }

    private let state = Locked(State())

    // MARK: Fallbacks

    /// Returns the reason for which the resource's last asset was sent to the original URL, or nil.
    func fallback(of key: ResourceKey) -> FallbackReason? { state.withLock { $0.fallbacks.values[key] } }

    func remember(_ reason: FallbackReason, for key: ResourceKey) { state.withLock { $0.fallbacks.note(reason, key) } }

    /// Lets the resource be tried through the cache again.
    func forgetFallback(of key: ResourceKey) { state.withLock { $0.fallbacks.forget(key) } }

    // MARK: File extensions

    /// Returns the file extension for the discovered type of the resource, or nil.
    func fileExtension(of key: ResourceKey) -> String? { state.withLock { $0.extensions.values[key] } }

    func learn(fileExtension: String, of key: ResourceKey) { state.withLock { $0.extensions.note(fileExtension, key) } }

    // MARK: Waiting loaders

    /// Records whether the item of a loader plays and waits for bytes.
    func note(_ loader: AnyObject, isHungry: Bool) {
        let id = ObjectIdentifier(loader)
        state.withLock { state in
            if isHungry { state.hungry.insert(id) } else { state.hungry.remove(id) }
        }
    }

    /// Records whether a loader has open requests.
    func note(_ loader: any LoadingParty, isLoading: Bool) {
        let id = ObjectIdentifier(loader)
        state.withLock { $0.loading[id] = isLoading ? loader : nil }
    }

    /// Whether any player waits for bytes of this cache.
    var isAnyoneLoading: Bool { state.withLock { !$0.loading.isEmpty } }

    /// Lets all loaders with open requests retry at once.
    func tryAgain() {
        for loader in state.withLock({ Array($0.loading.values) }) { loader.tryAgainSoon() }
    }

    /// Whether any item that plays waits for bytes. Later items then yield.
    var isAnyoneHungry: Bool { state.withLock { !$0.hungry.isEmpty } }
}

/// A loader with open requests, which is retained only while it has some.
protocol LoadingParty: AnyObject, Sendable {
    /// Retries at once. May be called from any thread.
    func tryAgainSoon()
}

/// Facts about resources. The oldest are dropped beyond a limit.
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
