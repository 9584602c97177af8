import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// The parts of the entries of the list of downloads, in each store.
@Suite struct DownloadPartTests {
    private let film = StoreSample("film"), song = StoreSample("song"), other = StoreSample("other")
    private let parts = [StoreSample("part-1"), StoreSample("part-2")]

    private func entry(_ sample: StoreSample) -> StoredDownload { StoredDownload(key: sample.key, members: ["url": sample.key.string]) }

    private func stores() throws -> [any ResourceStore] {
        [MemoryStore(), try SQLiteStore.simulated(on: MemoryDisk(), directory: "/store")]
    }

    @Test func `eviction spares the parts of downloads, and their bytes are bytes of downloads`() throws {
        for store in try stores() {
            for sample in parts + [film, other] { try sample.store([0..<1000], of: store.makeGeneration(), in: store) }
            try store.setDownload(film.key, entry(film))
            let alone = try store.downloadBytes()
            for part in parts { try store.setDownloadPart(part.key, of: film.key, true) }
            #expect(try store.evictionCandidates(after: nil, limit: 9).map(\.key) == [other.key])
            #expect(try store.downloadBytes() == 3 * alone && alone > 0)
            #expect(try store.storedBytes(ofDownload: film.key) == 3000)
            #expect(try store.downloadParts().mapValues(Set.init) == [film.key: Set(parts.map(\.key))])
        }
    }

    @Test func `a part goes with its last entry`() throws {
        for store in try stores() {
            try parts[0].store([0..<1000], of: store.makeGeneration(), in: store)
            for sample in [film, song] {
                try store.setDownload(sample.key, entry(sample))
                try store.setDownloadPart(parts[0].key, of: sample.key, true)
                try store.setDownloadPart(parts[0].key, of: sample.key, true)
            }
            try store.setDownload(film.key, nil)
            #expect(try store.downloadParts() == [song.key: [parts[0].key]])
            #expect(try store.evictionCandidates(after: nil, limit: 9).isEmpty)
            try store.setDownloadPart(parts[0].key, of: song.key, false)
            #expect(try store.evictionCandidates(after: nil, limit: 9).map(\.key) == [parts[0].key])
            #expect(try store.downloadBytes() == 0)
            try store.setDownloadPart(parts[1].key, of: song.key, true)
            try store.removeAll()
            try store.setDownload(song.key, entry(song))
            #expect(try store.downloadParts().values.allSatisfy(\.isEmpty))
        }
    }
}
