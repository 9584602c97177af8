import SpoolCore
import SpoolStore

/// Reads what an earlier process stored, and removes the blobs that no entry names.
struct BlobOpening {
    let blobs: any BlobStore

    /// The most blobs of a place. With a full block in each they have 256 GiB.
    private static let maximumBlobs = 4 << 20
    /// The most bytes of an entry: that of a file with as many blobs.
    private static let maximumEntryBytes = 512 << 20

    /// Returns the blobs of the store. Blobs with other names are somebody else's, and stay.
    func names() throws(StoreError) -> [(name: BlobName, byteCount: Int)] {
        let found = try blobs.storing("list") { try blobs.list() }
        guard found.count <= Self.maximumBlobs else { throw .tooLarge }
        return found.compactMap { blob in BlobName(blob.name).map { ($0, blob.byteCount) } }
    }

    func open() throws(StoreError) -> MemoryStore {
        let names = try names()
        let sizes = Dictionary(names.map { ($0.name, $0.byteCount) }, uniquingKeysWith: { first, _ in first })
        var (used, entries, last): (Set<BlobName>, [ResourceKey: (BlobName, BlobEntry)], Int64) = ([], [:], 0)
        for (name, byteCount) in names.sorted(by: { $0.name.serial > $1.name.serial }) {
            switch name {
            case .entry:
                guard let entry = try entry(name, byteCount), entries[entry.key] == nil else { continue }
                entries[entry.key] = (name, entry)
            case .bytes(_, let generation): last = max(last, generation.rawValue)
            case .lastGeneration(let generation, _):
                last = max(last, generation.rawValue)
                used.insert(name)
            }
        }
        let place = BlobPlace(
            blobs, lastSerial: names.map(\.name.serial).max() ?? 0, entries: entries.mapValues { $0.0 })
        var contents: [KeptEntry] = []
        for (name, var entry) in entries.values {
            used.insert(name)
            // A blob that was lost, or cut, is not stored.
            let generation = entry.generation
            entry.extents.removeAll { extent in
                sizes[.bytes(extent.piece, of: generation)].map { Int64($0) } != extent.piece.range.count
            }
            for extent in entry.extents { used.insert(.bytes(extent.piece, of: generation)) }
            last = max(last, generation.rawValue)
            contents.append(entry.kept(in: place))
        }
        for (name, _) in names where !used.contains(name) { try place.remove(name) }
        return MemoryStore(backing: place, contents: contents, lastGeneration: GenerationID(rawValue: last))
    }

    /// Reads an entry, or returns nil for one that is damaged.
    private func entry(_ name: BlobName, _ byteCount: Int) throws(StoreError) -> BlobEntry? {
        guard byteCount <= Self.maximumEntryBytes else { return nil }
        let bytes = try blobs.storing("read") { try blobs.read(0..<max(0, byteCount), of: name.text) }
        return BlobEntry(bytes, name)
    }
}
