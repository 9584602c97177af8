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

/// The search for the variant of a resource that answers a request. Runs on the index lane.
struct VariantSearch {
    let engine: Engine

    /// The most places of new variants that are remembered until their first response.
    private static let pendingLimit = 256
    /// How long a place stays reserved for a request that has not joined it. It joins at once,
    /// unless its client leaves.
    private static let pendingTime: Nanoseconds = .seconds(5)

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
        if let live = engine.liveSession(of: key)?.variantState {
            place.representation = live.representation
            place.isBusy = live.isBusy
            place.passes = live.passes
        }
        guard !engine.store.certainlyLacks(key), let stored = try engine.store.lookup(key) else { return place }
        place.representation = place.representation ?? stored.representation
        place.lastAccess = stored.lastAccess
        place.isPinned = stored.isPinned || engine.temporaryPins.contains(key) || engine.downloadKeys.contains(key)
        return place
    }

    func choose(of base: ResourceKey, for client: ClientRequest) throws(StoreError) -> VariantChoice {
        var places: [Place] = []
        for key in Variants.keys(of: base) { places.append(try place(key)) }
        var unasked: ResourceKey?
        for place in places {
            guard let representation = place.representation else { continue }
            switch representation.knownMark?.verdict(for: client.selection) ?? .use {
            case .use: return .stored(place.key)
            case .ask where !client.selection.isShared && representation.isContent: unasked = unasked ?? place.key
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
    /// or the longest unused one. Returns nil when all are in use, pinned
    /// or downloads.
    private func reserve(_ places: [Place], for digest: String) -> ResourceKey? {
        let now = engine.environment.time.now
        let pending = engine.pendingVariants.withLock { $0 }
        func isReserved(_ place: Place) -> Bool {
            place.representation == nil && pending[place.key].map { place.isBusy || now - $0.since < Self.pendingTime } ?? false
        }
        if let same = places.first(where: { isReserved($0) && pending[$0.key]?.request == digest }) { return same.key }
        let idle = places.filter { !$0.isBusy && !$0.isPinned && !isReserved($0) }
        let chosen = idle.first { $0.representation == nil } ?? idle.min { $0.lastAccess < $1.lastAccess }
        guard let chosen else { return nil }
        if chosen.representation != nil {
            // A client may have come since the look at the places.
            guard engine.evictor.hooks.release(chosen.key) else { return nil }
            // A failure leaves the old variant, which the new one then replaces.
            do { _ = try engine.store.remove(chosen.key) } catch { engine.record(.storeTrouble("remove: \(error)")) }
        }
        engine.pendingVariants.withLock { pending in
            if pending.count >= Self.pendingLimit { pending.removeAll(keepingCapacity: true) }
            pending[chosen.key] = PendingVariant(request: digest, since: now)
        }
        return chosen.key
    }
}
