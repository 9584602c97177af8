import SpoolCore
import SpoolManifests

/// The variables that media playlists import from the multivariant playlists that name them (HLS).
///
/// They belong to the pair of both. Another site's playlist that names the same child must not
/// change what the child means to the players of its own site.
struct ImportedVariables {
    /// The most memory of all pairs, in bytes, about. When it is exceeded, all are dropped: a
    /// player then asks for the parts with variables by itself, until the parent is read again.
    static let capacityBytes = 4 << 20
    /// The most playlists of one parent that get its variables.
    static let childrenOfParent = 256

    private struct Parent {
        /// Whether the parent has the origin of the child.
        var isOwn: Bool
        var values: [String: String]
    }

    /// The variables by the URL of the child, then by that of the parent.
    private var pairs: [String: [String: Parent]] = [:]
    private var heldBytes = 0

    /// Keeps the variables of a multivariant playlist for the playlists that it names.
    mutating func keep(_ entry: ManifestMemo.Entry) {
        guard !entry.playlists.isEmpty else { return }
        let bytes = entry.variables.heldBytes
        for child in entry.playlists { keep(entry.variables, bytes, of: entry.cause.url, for: child) }
    }

    private mutating func keep(_ values: [String: String], _ valueBytes: Int, of parent: String, for child: String) {
        let known = pairs[child]?[parent]?.values
        guard known != values else { return }
        let names = parent.utf8.count + child.utf8.count, bytes = valueBytes + names
        if let known { heldBytes -= known.heldBytes + names }
        if heldBytes + bytes > Self.capacityBytes { (pairs, heldBytes) = ([:], 0) }
        guard bytes <= Self.capacityBytes else { return }
        heldBytes += bytes
        pairs[child, default: [:]][parent] = Parent(isOwn: Self.origin(parent) == Self.origin(child), values: values)
    }

    /// Returns the variables of a playlist: those of the parents of its own origin, if there are
    /// such ones. None where parents differ, because the player alone knows its parent.
    ///
    /// - Parameter isNamedElsewhere: Whether the client asks by the path that other origins'
    ///   manifests have for the playlist.
    func values(of child: String, isNamedElsewhere: Bool) -> [String: String] {
        guard let parents = pairs[child]?.values else { return [:] }
        let own = parents.filter(\.isOwn), fitting = own.isEmpty && isNamedElsewhere ? Array(parents) : own
        guard let first = fitting.first, fitting.allSatisfy({ $0.values == first.values }) else { return [:] }
        return first.values
    }

    private static func origin(_ url: String) -> URIReference.Origin? {
        do { return try URIReference(lenient: url).origin } catch { return nil }
    }
}

extension ManifestReferences {
    /// The URLs of the first `count` playlists.
    func firstPlaylists(_ count: Int) -> [String] {
        Array(lazy.filter { $0.role == .playlist }.prefix(count)).compactMap(\.url)
    }
}
