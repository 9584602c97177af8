import SpoolCore
import SpoolStore

/// The resources of a cache: their list, and their removal.
package struct ResourceCatalog {
    let engine: Engine
    let downloads: DownloadRunner

    private var store: any ResourceStore { engine.store }

    /// Passes up to `limit` resources in the order of their keys to `done` on the index lane. Where
    /// a resource has a session, its status comes from there.
    func list(after key: ResourceKey?, limit: Int, _ done: @escaping Completion<[ResourceStatus]>) {
        let live = engine.sessions.withLock { $0.all }.map(\.liveStatus)
        engine.onIndexLane(nil, done) { [store] () throws(StoreError) in
            let stored = try store.resources(after: key, limit: limit)
            let byKey = Dictionary(live.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
            var found = stored.compactMap { ResourceStatus(stored: $0, live: byKey[$0.key]) }
            // Resources that are so new that the index does not have them yet.
            let known = Set(stored.map(\.key))
            for status in live where !known.contains(status.key) && status.representation != nil && key.map({ $0 < status.key }) != false {
                if let status = ResourceStatus(stored: nil, live: status) { found.append(status) }
            }
            return Array(found.sorted { $0.key < $1.key }.prefix(limit))
        }
    }

    /// Removes a resource with its pin and its download. Runs on the index lane.
    ///
    /// - Returns: Whether the resource was stored.
    func remove(_ key: ResourceKey) throws(StoreError) -> Bool {
        // The pin and the download go first. A process that stops in between leaves the resource,
        // which may be evicted. In the other order it would leave a pin on bytes that are stored
        // later, or a download that fetches them again.
        var owesUnpinning = false
        do throws(StoreError) {
            if store.isWritable { _ = try store.setPinned(withVariants: key, false, time: engine.environment.time.wallNow) }
            try downloads.forget(key)
        } catch {
            // On a full disk, the removal makes the room for the change of the pin.
            guard error == .full else { throw error }
            owesUnpinning = true
        }
        let existed = try store.remove(key)
        if owesUnpinning {
            _ = try store.setPinned(withVariants: key, false, time: engine.environment.time.wallNow)
            try downloads.forget(key)
        }
        if existed { engine.record(.removed(key)) }
        return existed
    }

    /// Descriptions of the broken invariants of the sessions, for simulations, which check them
    /// after every step.
    package var violations: [String] {
        engine.sessions.withLock { $0.all }.flatMap { session in session.state.withLock { $0.machine.violations } }
    }
}
