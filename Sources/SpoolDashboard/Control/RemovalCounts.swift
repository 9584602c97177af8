package import Spool
package import SpoolCore
package import SpoolJSON

/// The result of a removal: the resources and bytes that went, and those that stay.
package struct RemovalCounts: Sendable {
    package var removed, bytes, kept, keptBytes: Int64

    /// Creates counts.
    package init(removed: Int64 = 0, bytes: Int64 = 0, kept: Int64 = 0, keptBytes: Int64 = 0) {
        (self.removed, self.bytes, self.kept, self.keptBytes) = (removed, bytes, kept, keptBytes)
    }

    /// Reads the answer of a server, or returns nil for one of another version.
    package init?(_ answer: JSON) {
        guard let removed = answer["removed"]?.integer, let bytes = answer["bytes"]?.integer else { return nil }
        self.init(removed: removed, bytes: bytes, kept: answer["kept"]?.integer ?? 0, keptBytes: answer["keptBytes"]?.integer ?? 0)
    }

    /// The members of an answer.
    package var members: [(String, JSON)] {
        [("removed", .integer(removed)), ("bytes", .integer(bytes)), ("kept", .integer(kept)), ("keptBytes", .integer(keptBytes))]
    }

    package mutating func add(_ other: RemovalCounts) {
        for count in [\Self.removed, \.bytes, \.kept, \.keptBytes] {
            self[keyPath: count] = self[keyPath: count].addingSaturated(other[keyPath: count])
        }
    }
}

extension MediaCache {
    /// Removes all resources except downloads and pins, or with them everything else that the store
    /// keeps, and counts.
    package func removeAll(erasing isErasing: Bool) async throws(CacheError) -> RemovalCounts {
        let before = try await size()
        guard !isErasing else {
            try await eraseEverything()
            return before
        }
        let bytes = try await clear()
        let kept = try await size()
        return RemovalCounts(
            removed: before.removed.subtractingSaturated(kept.removed), bytes: bytes, kept: kept.removed, keptBytes: kept.bytes)
    }

    private func size() async throws(CacheError) -> RemovalCounts {
        RemovalCounts(removed: Int64(try await count()), bytes: try await totalSizeBytes())
    }
}
