import SpoolCore
import SpoolManifests

/// The manifests that were rewritten last, so that an unchanged one is not read again.
struct ManifestMemo {
    /// The most manifests that stay.
    static let capacity = 64
    /// The most memory of rewritten manifests that stays, in bytes, as far as `heldBytes` knows it.
    static let capacityBytes = 32 << 20

    /// Everything that a rewritten manifest depends on.
    struct Cause: Hashable {
        var key: ResourceKey
        var url: String
        var generation: GenerationID
        var isPathForm: Bool
        /// The origin whose resources get the client's credentials.
        var home: URIReference.Origin?
        /// Absolute references name the proxy as the client does.
        var authority: String
        var variables: [String: String]
    }

    /// A rewritten manifest.
    struct Entry {
        var cause: Cause
        var body: [UInt8]
        /// The entity tag of the body, with its quotes.
        var tag: String
        var contents: ManifestContents
        /// Whether renditions were left out because the network is away. Such a manifest is for one
        /// answer.
        var isReduced = false

        /// The memory of the entry, about: the document, the body, and the references.
        var heldBytes: Int { 2 * body.count + contents.references.heldBytes }
    }

    private var entries: [Entry] = []

    /// Returns the entry of a cause, and marks it as used.
    mutating func entry(for cause: Cause) -> Entry? {
        guard let index = entries.lastIndex(where: { $0.cause == cause }) else { return nil }
        if index < entries.count - 1 { entries.append(entries.remove(at: index)) }
        return entries.last
    }

    /// Adds an entry. It replaces older versions of its manifest.
    mutating func insert(_ entry: Entry) {
        entries.removeAll { $0.cause.key == entry.cause.key && $0.cause.generation != entry.cause.generation }
        entries.append(entry)
        var bytes = entries.reduce(0) { $0 + $1.heldBytes }
        while entries.count > 1, entries.count > Self.capacity || bytes > Self.capacityBytes {
            bytes -= entries.removeFirst().heldBytes
        }
    }

    /// Returns the manifests that name `url`, the latest first.
    func parents(of url: String) -> [Cause] {
        let name = url.utf8.prefix { $0 != UInt8(ascii: "?") }.split(separator: UInt8(ascii: "/")).last.map { Substring($0) } ?? ""
        return entries.reversed().filter { entry in
            let references = entry.contents.references
            return references.mayContain(name) && references.contains { $0.text.contains(name) && $0.url == url }
        }.map(\.cause)
    }
}
