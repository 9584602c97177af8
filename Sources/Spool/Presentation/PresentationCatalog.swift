import SpoolCore
import SpoolManifests

/// The presentations of a store, and the resources that they share.
struct PresentationCatalog {
    let cache: MediaCache

    /// Returns the manifests that no other stored manifest names, in the order of their keys.
    func roots() async throws(CacheError) -> [ResourceKey] {
        var manifests: [ResourceKey] = []
        var named = Set<ResourceKey>()
        try await forEachManifest { status, manifest in
            manifests.append(status.key)
            for rendition in manifest.outline.renditions { if let playlist = rendition.playlist { insert(playlist, into: &named) } }
            // The URL at the end of the redirects of a manifest is the same manifest.
            if manifest.text.url != status.url { insert(manifest.text.url, into: &named) }
        }
        return manifests.filter { !named.contains($0) }
    }

    /// Returns the resources of a presentation that no other stored presentation has, the manifest
    /// first.
    ///
    /// - Parameter amongPinned: Whether only the presentations with a pinned manifest count as
    ///   others.
    func ownResources(of inventory: PresentationInventory, amongPinned: Bool = false) async throws(CacheError) -> [ResourceKey] {
        let own = Set(inventory.keys), root = inventory.manifest.key
        var shared = Set<ResourceKey>()
        var manifests: [ResourceKey: StoredManifest] = [:]
        try await forEachManifest { status, manifest in
            if own.contains(status.key) {
                manifests[status.key] = manifest
            } else if status.isPinned || !amongPinned {
                for key in keys(manifest) where own.contains(key) && key != root { shared.insert(key) }
            }
        }
        // A playlist that stays needs its segments.
        var open = shared.filter { manifests[$0] != nil }
        while let next = open.popFirst() {
            guard let manifest = manifests[next] else { continue }
            for key in keys(manifest) where own.contains(key) && key != root && shared.insert(key).inserted { open.insert(key) }
        }
        return inventory.keys.filter { !shared.contains($0) }
    }

    private func keys(_ manifest: StoredManifest) -> [ResourceKey] {
        manifest.references.compactMap(cache.presentations.key)
    }

    private func insert(_ url: String, into keys: inout Set<ResourceKey>) {
        if let key = cache.presentations.key(of: url) { keys.insert(key) }
    }

    /// Calls `body` for each stored manifest.
    private func forEachManifest(_ body: (ResourceStatus, StoredManifest) -> Void) async throws(CacheError) {
        var last: ResourceKey?
        while true {
            let page = try await cache.resources(after: last)
            guard let end = page.last else { return }
            for status in page where ManifestSuspicion(contentType: status.representation.contentType, url: status.url) == .named {
                if let manifest = try await read(status) { body(status, manifest) }
            }
            last = end.key
        }
    }

    private func read(_ status: ResourceStatus) async throws(CacheError) -> StoredManifest? {
        // A playlist may need the variables of the manifest above; without them its references are
        // incomplete, and not wrong.
        try await result { done in StoredManifest.read(status, from: cache, variables: [:], done) }
    }
}
