package import SpoolCore
package import SpoolManifests

/// The stored part of a presentation, with its manifest.
package struct PresentationInventory: Sendable {
    /// The stored part of one rendition.
    package struct Track: Sendable {
        /// The number of parts, with the playlist; nil while the playlist is not stored.
        package var partCount: Int?
        package var storedPartCount = 0

        /// Whether every part is stored.
        package var isComplete: Bool { partCount == storedPartCount }
    }

    /// A stored resource of the presentation.
    package struct Member: Sendable {
        package var stored: ByteRangeSet
        package var isComplete: Bool
    }

    /// The manifest that names all others.
    package var manifest: ResourceStatus
    package var bytes: [UInt8]
    package var outline: StreamOutline
    /// The stored parts of the renditions of the outline, in its order.
    package var tracks: [Track] = []
    /// The stored resources, the manifest first.
    package private(set) var keys: [ResourceKey] = []
    package private(set) var members: [ResourceKey: Member] = [:]

    init(manifest: ResourceStatus, text: WholeText, outline: StreamOutline) {
        self.manifest = manifest
        bytes = text.bytes
        self.outline = outline
        add(manifest)
    }

    /// The renditions that can be played from the store alone.
    package var playable: Set<Int> {
        outline.isLive ? [] : outline.playable { tracks[$0].isComplete }
    }

    /// Adds a stored resource.
    mutating func add(_ status: ResourceStatus) {
        guard members[status.key] == nil else { return }
        keys.append(status.key)
        members[status.key] = Member(stored: status.stored, isComplete: status.isComplete)
    }

    /// Whether every byte of a part is stored in the resource with this key.
    func hasPart(_ part: StreamPart, _ key: ResourceKey) -> Bool {
        guard let member = members[key] else { return false }
        guard let range = part.range else { return member.isComplete }
        return member.stored.contains(range)
    }
}
