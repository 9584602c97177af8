package import SpoolCore
import SpoolStore

/// The variants of resources, for the clients of a door.
///
/// A resource has up to `limit` variants. Each has a key, and so a session, a version and stored
/// bytes of its own.
package struct Variants: Sendable {
    let engine: Engine

    /// The most stored variants of one resource.
    package static let limit = 8

    /// The keys of all variants that a resource may have. The first is the key of the resource.
    static func keys(of key: ResourceKey) -> [ResourceKey] { (0..<limit).map(key.variant) }

    /// Makes the request of a client, or returns nil for a URL that cannot be asked.
    ///
    /// - Parameters:
    ///   - fields: All fields of the client's request.
    ///   - url: The URL at the origin.
    ///   - place: The place of the door.
    ///   - isForeign: Whether the URL comes from a manifest of another origin, so that no
    ///     credentials go there.
    ///   - isStranger: Whether the client counts as one of several users, also in a cache of one.
    package func request(
        _ fields: HTTPFields, for url: MediaURL, at place: RequestFields.Place, isForeign: Bool = false, isStranger: Bool = false
    ) -> ClientRequest? {
        let isShared = isStranger || engine.configuration.freshness.isShared
        let all = RequestFields(fields, to: url.origin, at: place, configured: engine.configuration.fields(for: url.text))
        let selection = ClientSelection(
            isForeign ? all.withoutCredentials(isShared: isShared) : all, userinfo: url.userinfo, nonce: engine.environment.random.next(),
            isShared: isShared
        ) { [digests = engine.digests] in digests.of($0) }
        return ClientRequest(url: url, selection: selection)
    }

    /// Returns whether the session of `key`, if there is one, has a version that answers the
    /// client. Returns nil when that is not known.
    package func liveVerdict(of key: ResourceKey, for client: ClientRequest) -> VariantMark.Verdict? {
        guard let session = engine.liveSession(of: key) else { return engine.store.certainlyLacks(key) ? .use : nil }
        return session.state.withLock { state -> VariantMark.Verdict? in
            guard state.machine.phase == .ready else { return nil }
            guard let representation = state.machine.version?.representation else { return .use }
            return representation.mark?.verdict(for: client.selection) ?? .use
        }
    }

    /// Finds the variant of a resource that answers the client, or a place for a new one. Calls
    /// `done` on the index lane.
    package func find(of base: ResourceKey, for client: ClientRequest, _ done: @escaping Completion<VariantChoice>) {
        engine.onIndexLane(base, done) { [engine] () throws(StoreError) in try VariantSearch(engine: engine).choose(of: base, for: client) }
    }

    /// Removes a variant whose bytes another variant has, unless a reader uses it.
    package func drop(_ key: ResourceKey) {
        engine.onIndexLane(key, { _ in }) { [engine] () throws(StoreError) in
            guard let session = engine.liveSession(of: key), session.end(if: { $0.isUnread }) else { return }
            engine.sessions.withLock { $0.remove(session) }
            _ = try engine.store.remove(key)
        }
    }

    /// Removes the further variants of a resource from the store. Called on the index lane.
    func removeFurther(of key: ResourceKey) {
        for variant in Self.keys(of: key).dropFirst() where !engine.store.certainlyLacks(variant) {
            do { _ = try engine.store.remove(variant) } catch { engine.record(.storeTrouble("remove: \(error)")) }
        }
    }
}

extension ResourceStore {
    /// Pins a resource with the variants that are stored of it now, or unpins it with all variants.
    /// Index call.
    ///
    /// - Returns: Whether a pin changed.
    func setPinned(withVariants key: ResourceKey, _ isPinned: Bool, time: Timestamp) throws(StoreError) -> Bool {
        var changed = try setPinned(key, isPinned, time: time)
        for variant in Variants.keys(of: key).dropFirst() {
            if isPinned {
                if certainlyLacks(variant) { continue }
                guard try lookup(variant) != nil else { continue }
            }
            changed = try setPinned(variant, isPinned, time: time) || changed
        }
        return changed
    }
}

extension ResourceKey {
    /// The key of a variant. The first variant has the key of the resource. A normalised URL has
    /// no space, so no resource has the key of another one's variant.
    package func variant(_ number: Int) -> ResourceKey {
        number == 0 ? self : ResourceKey(normalized: "\(string) variant \(number)")
    }

    /// A key for one request alone, under which nothing is stored.
    package func apart(_ nonce: UInt64) -> ResourceKey { ResourceKey(normalized: "\(string) apart \(String(nonce, radix: 16))") }
}
