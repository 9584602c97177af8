import Spool
import SpoolCore
import SpoolDashboard

/// The resources that the operands of a command name: each by its URL or key, or several by a
/// pattern.
struct NamedResources {
    /// A resource, and the operand that names it.
    struct Item {
        let key: ResourceKey
        /// The operand, or the key of a resource that a pattern found.
        let name: String
        /// Whether a pattern found the resource. It is stored then, or pinned.
        let isMatch: Bool
    }

    let names: [String]
    let settings: CacheSettings

    /// Whether one of the operands is a pattern.
    var hasPatterns: Bool { names.contains(where: ResourcePattern.isPattern) }

    /// Finds the resources, each one once.
    ///
    /// A pattern stands for what `spool ls` lists by it: the parts of a presentation that matches
    /// belong to its manifest. A stored resource whose key contains an asterisk is found by its own
    /// name.
    ///
    /// - Parameter includesPins: Whether a pattern finds pins without stored bytes.
    /// - Throws: `Failure` when nothing matches a pattern, before the command has done anything.
    func find(in cache: MediaCache, includesPins: Bool = false) async throws -> [Item] {
        var items: [Item] = []
        for name in names {
            let key = settings.key(name)
            if try await isOne(name, key, cache) {
                items.append(Item(key: key, name: name, isMatch: false))
            } else {
                items += try await matches(name, in: cache, includesPins)
            }
        }
        var seen = Set<ResourceKey>()
        return items.filter { seen.insert($0.key).inserted }
    }

    /// Whether an operand names one resource.
    private func isOne(_ name: String, _ key: ResourceKey, _ cache: MediaCache) async throws -> Bool {
        guard ResourcePattern.isPattern(name) else { return true }
        return try await cache.status(of: key) != nil
    }

    private func matches(_ name: String, in cache: MediaCache, _ includesPins: Bool) async throws -> [Item] {
        let pattern = ResourcePattern(name, policy: settings.configuration.freshness.keyPolicy)
        var keys = try await cache.resources(matching: pattern)
        if includesPins { keys += try await cache.pins(matching: pattern) }
        guard !keys.isEmpty else { throw Failure.noMatch(name) }
        return keys.map { Item(key: $0, name: $0.string, isMatch: true) }
    }
}

extension MediaCache {
    /// Returns the stored resources that a pattern stands for, without the parts of presentations
    /// whose manifests are among them.
    fileprivate func resources(matching pattern: ResourcePattern) async throws -> [ResourceKey] {
        let groups = PresentationGroups(try await presentations.all().filter { pattern.matches($0.key) })
        var keys: [ResourceKey] = []
        for try await page in pages { keys += page.map(\.key).filter { pattern.matches($0) && !groups.contains($0) } }
        return keys
    }

    /// Returns the matching pins of resources without stored bytes.
    fileprivate func pins(matching pattern: ResourcePattern) async throws -> [ResourceKey] {
        var keys: [ResourceKey] = []
        for try await page in pagesOfPins { keys += page.filter(pattern.matches) }
        return keys
    }
}
