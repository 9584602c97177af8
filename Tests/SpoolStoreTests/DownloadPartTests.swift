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
            #expect(try store.evictionCandidates(after: nil, largerThan: -1, limit: 9).map(\.key) == [other.key])
            #expect(try store.downloadBytes() == 3 * alone && alone > 0)
            #expect(try store.storedBytes(ofDownload: film.key) == 3000)
            #expect(try store.downloadKeys().mapValues(Set.init) == [film.key: Set(parts.map(\.key))])
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
            #expect(try store.downloadKeys() == [song.key: [parts[0].key]])
            #expect(try store.evictionCandidates(after: nil, largerThan: -1, limit: 9).isEmpty)
            try store.setDownloadPart(parts[0].key, of: song.key, false)
            #expect(try store.evictionCandidates(after: nil, largerThan: -1, limit: 9).map(\.key) == [parts[0].key])
            #expect(try store.downloadBytes() == 0)
            try store.setDownloadPart(parts[1].key, of: song.key, true)
            try store.removeAll()
            try store.setDownload(song.key, entry(song))
            #expect(try store.downloadKeys() == [song.key: []])
        }
    }

    @Test func `a change of an entry writes as much in a long list as in a short one`() throws {
        func writes(in count: Int) throws -> Int {
            let disk = MemoryDisk(isRecording: true)
            let store = try SQLiteStore.simulated(on: disk, directory: "/store")
            func entry(_ number: Int, _ data: String) -> StoredDownload {
                StoredDownload(key: StoreSample("film-\(number)").key, members: ["data": String(repeating: data, count: 2048)])
            }
            for number in 0..<count { try store.setDownload(entry(number, "a").key, entry(number, "a")) }
            try store.makeDurable()
            let before = disk.operationCount
            for number in 0..<10 { try store.setDownload(entry(number, "b").key, entry(number, "b")) }
            #expect(try store.downloads().count { $0.members["data"]?.hasPrefix("b") == true } == 10)
            return disk.operationCount - before
        }
        let (short, long) = (try writes(in: 10), try writes(in: 1000))
        // The tree of the longer table is one page deeper, and a page is a header and its bytes.
        #expect(long <= short + 10 * 2, "\(short) writes in a list of 10, \(long) in one of 1000")
    }
}
