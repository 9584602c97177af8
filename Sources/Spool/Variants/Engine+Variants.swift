package import SpoolCore
import SpoolStore
import SpoolSystem

/// The place of the variant that answers a request.
package enum VariantChoice: Sendable {
    /// A stored variant answers it.
    case stored(ResourceKey)
    /// The origin has to be asked. A new variant goes to `key`, unless the response has one of the
    /// offered tags.
    ///
    /// - Parameters:
    ///   - offered: The strong tags of stored variants, and their keys.
    ///   - unasked: A stored variant that may be used while the origin is out of reach.
    case fetch(key: ResourceKey, offered: [(tag: String, key: ResourceKey)], unasked: ResourceKey?)
    /// Every place is in use. The response is passed on under a key of its own, and not stored.
    case apart(key: ResourceKey, unasked: ResourceKey?)
}

/// A place that was reserved for a new variant.
struct PendingVariant {
    /// The digest of the request for which it was reserved.
    var request: String
    /// When it was reserved.
    var since: MonotonicInstant
}

// A resource has up to `MediaCache.variantLimit` variants. Each has a key, and so a session, a version and
// stored bytes of its own.

extension Engine {
    /// The most places of new variants that are remembered until their first response.
    static let pendingVariantLimit = 256
    /// How long a place stays reserved for a request that has not joined it. It joins at once,
    /// unless its client leaves.
    static let pendingVariantTime: Nanoseconds = .seconds(5)

    /// Returns whether the session of `key`, if there is one, has a version that answers the
    /// client. Returns nil when that is not known.
    func liveVerdict(of key: ResourceKey, for client: ClientRequest) -> VariantMark.Verdict? {
        guard let session = liveSession(of: key) else { return store.certainlyLacks(key) ? .use : nil }
        return session.state.withLock { state -> VariantMark.Verdict? in
            guard state.machine.phase == .ready else { return nil }
            guard let representation = state.machine.version?.representation else { return .use }
            return representation.mark?.verdict(for: client.selection, isShared: configuration.isShared) ?? .use
        }
    }

    /// Finds the variant of a resource that answers the client, or a place for a new one. Calls
    /// `done` on the index lane.
    func findVariant(
        of base: ResourceKey, for client: ClientRequest, _ done: @escaping @Sendable (Result<VariantChoice, CacheError>) -> Void
    ) {
        onIndexLane(base, done) { [self] () throws(StoreError) in try chooseVariant(of: base, for: client) }
    }

    /// The keys of all variants that a resource may have. The first is the key of the resource.
    static func keysOfVariants(of key: ResourceKey) -> [ResourceKey] { (0..<MediaCache.variantLimit).map(key.variant) }

    /// Removes the further variants of a resource from the store.
    func removeVariants(of key: ResourceKey) {
        for variant in Self.keysOfVariants(of: key).dropFirst() where !store.certainlyLacks(variant) {
            do { _ = try store.remove(variant) } catch { record(.storeTrouble("remove: \(error)")) }
        }
    }

    /// Removes a variant whose bytes another variant has, unless a reader uses it.
    func dropVariant(_ key: ResourceKey) {
        guard let session = liveSession(of: key), session.state.withLock({ $0.machine.readers.isEmpty }) else { return }
        sessions.withLock { $0.remove(key) }?.end(.removed)
        onIndexLane(key, { _ in }) { [store] () throws(StoreError) in try store.remove(key) }
    }

    /// One place for a variant, as it is now.
    private struct Place {
        var key: ResourceKey
        var representation: Representation?
        var lastAccess = Timestamp(nanoseconds: 0)
        var isBusy = false
        var passes = false
        var isPinned = false

        /// The strong tag by which the origin can confirm the variant.
        var tag: String? {
            guard !passes, let representation, case .strong(let tag) = representation.validator,
                representation.knownMark?.names.contains("*") != true
            else { return nil }
            return tag
        }
    }

    private func place(_ key: ResourceKey) throws(StoreError) -> Place {
        var place = Place(key: key)
        if let live = liveSession(of: key)?.variantState {
            place.representation = live.representation
            place.isBusy = live.isBusy
            place.passes = live.passes
        }
        guard !store.certainlyLacks(key), let stored = try store.lookup(key) else { return place }
        place.representation = place.representation ?? stored.representation
        place.lastAccess = stored.lastAccess
        place.isPinned = stored.isPinned
        return place
    }

    private func chooseVariant(of base: ResourceKey, for client: ClientRequest) throws(StoreError) -> VariantChoice {
        var places: [Place] = []
        for key in Self.keysOfVariants(of: base) { places.append(try place(key)) }
        var unasked: ResourceKey?
        for place in places {
            guard let representation = place.representation else { continue }
            switch representation.knownMark?.verdict(for: client.selection, isShared: configuration.isShared) ?? .use {
            case .use: return .stored(place.key)
            case .ask where !configuration.isShared && representation.isContent: unasked = unasked ?? place.key
            case .ask, .other: break
            }
        }
        let marks = places.compactMap { $0.representation?.knownMark }
        let isForOne = marks.contains { $0.names.contains("*") }
        let names = Set(marks.flatMap(\.names)).subtracting(["*"]).sorted()
        let digest = client.selection.variantDigest(of: names)
        guard !isForOne, let key = reserve(places, for: digest) else {
            return .apart(key: base.apart(client.selection.nonce), unasked: unasked)
        }
        let offered = places.compactMap { place -> (tag: String, key: ResourceKey)? in
            place.key == key ? nil : place.tag.map { (tag: $0, key: place.key) }
        }
        return .fetch(key: key, offered: offered, unasked: unasked == key ? nil : unasked)
    }

    /// Reserves a place for a new variant: the one that an equal request has reserved, a free one,
    /// or the longest unused one. Returns nil when all are in use or pinned.
    private func reserve(_ places: [Place], for digest: String) -> ResourceKey? {
        let now = environment.time.now
        let pending = pendingVariants.withLock { $0 }
        func isReserved(_ place: Place) -> Bool {
            place.representation == nil && pending[place.key].map { place.isBusy || now - $0.since < Self.pendingVariantTime } ?? false
        }
        if let same = places.first(where: { isReserved($0) && pending[$0.key]?.request == digest }) { return same.key }
        let idle = places.filter { !$0.isBusy && !$0.isPinned && !isReserved($0) }
        let chosen = idle.first { $0.representation == nil } ?? idle.min { $0.lastAccess < $1.lastAccess }
        guard let chosen else { return nil }
        if chosen.representation != nil {
            sessions.withLock { $0.remove(chosen.key) }?.end(.removed)
            // A failure leaves the old variant, which the new one then replaces.
            do { _ = try store.remove(chosen.key) } catch { record(.storeTrouble("remove: \(error)")) }
        }
        pendingVariants.withLock { pending in
            if pending.count >= Self.pendingVariantLimit { pending.removeAll(keepingCapacity: true) }
            pending[chosen.key] = PendingVariant(request: digest, since: now)
        }
        return chosen.key
    }
}

extension ResourceKey {
    /// The key of a variant. The first variant has the key of the resource. A normalised URL has no
    /// space, so no resource has the key of another one's variant.
    package func variant(_ number: Int) -> ResourceKey {
        number == 0 ? self : ResourceKey(normalized: "\(string) variant \(number)")
    }

    /// A key for one request alone, under which nothing is stored.
    package func apart(_ nonce: UInt64) -> ResourceKey { ResourceKey(normalized: "\(string) apart \(String(nonce, radix: 16))") }
}
