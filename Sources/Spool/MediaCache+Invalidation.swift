package import SpoolCore

extension MediaCache {
    /// Marks a resource as changed at its origin by another request (RFC 9111 §4.4). Its stored
    /// bytes stay, and are used again once the origin has confirmed them.
    package func invalidate(_ key: ResourceKey, url: MediaURL) {
        for variant in Variants.keys(of: key) {
            let isKnown = variant == key || engine.liveSession(of: variant) != nil || !store.certainlyLacks(variant)
            if isKnown { invalidateVariant(variant, url: url) }
        }
    }

    private func invalidateVariant(_ key: ResourceKey, url: MediaURL) {
        do throws(CacheError) {
            let options = ReadOptions(mode: .onlyStored)
            let reader = try sessionReader(for: url, key: key, start: 0, end: 0, wantsBytes: false, options: options, wake: {})
            reader.invalidate()
            reader.leave()
        } catch {
            record(.storeTrouble("mark \(key.forLog) as changed: \(error.message)"))
        }
    }
}
