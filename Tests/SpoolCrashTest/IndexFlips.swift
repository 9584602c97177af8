import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting

/// Changes bytes of a closed store between two openings: each byte of the index in turn, and some
/// bytes of the data.
enum IndexFlips {
    private static let films = (0..<12).map { StoreSample("https://media.example/film-\($0)") }

    /// Returns a closed store with resources of several shapes.
    private static func makeStore() throws -> MemoryDisk {
        let disk = MemoryDisk()
        let store = try StoreLife.open(disk, boot: "first boot")
        for (number, film) in films.enumerated() {
            let generation = store.makeGeneration()
            try film.store([0..<Int64(1000 * (number + 1))], of: generation, in: store)
            if number % 3 == 0 { try film.store([65_536..<200_000, 300_000..<300_010], of: generation, in: store) }
            if number % 4 == 0 { try store.makeDurable() }
        }
        _ = try store.remove(films[5].key)
        try store.close()
        return disk
    }

    private static let index = "/cache/spool.sqlite"

    /// Changes `count` evenly spread bytes of the index, one at a time, or all bytes if there are
    /// fewer.
    static func run(count: Int, seed: UInt64) throws {
        let disk = try makeStore()
        let random = SeededRandom(seed: seed)
        let size = try disk.status(index)?.size ?? 0
        let stride = max(1, size / Int64(max(1, count)))
        var offset = Int64(random.next(below: UInt64(stride)))
        while offset < size {
            let mask = UInt8(1 + random.next(below: 255))
            let problems = try look(at: disk.crash(), flipping: offset, by: mask)
            guard problems.isEmpty else {
                throw CrashOptions.Complaint(
                    description: "byte \(offset) of the index, flipped by \(mask): \(problems.joined(separator: "; "))")
            }
            offset += stride
        }
    }

    /// Opens the store as the next start would, reads its content, writes to it, and opens it once
    /// more.
    private static func look(at disk: MemoryDisk, flipping offset: Int64, by mask: UInt8) throws -> [String] {
        try disk.damage(index, at: offset, by: mask)
        var problems: [String] = []
        for _ in 0..<2 {
            let store: SQLiteStore
            do throws(StoreError) {
                store = try StoreLife.open(disk, boot: "first boot")
            } catch {
                // A format number that no current program writes: the store is rejected and stays
                // unchanged.
                switch error {
                case .formatTooNew, .formatTooOld: return problems
                default: break
                }
                return problems + ["the store does not open: \(error)"]
            }
            problems += look(at: store)
        }
        return problems
    }

    /// Every call may fail, but none may return wrong data.
    private static func look(at store: SQLiteStore) -> [String] {
        var problems: [String] = []
        func attempt(_ body: () throws -> Void) {
            do { try body() } catch {
                if !(error is StoreError) { problems.append("\(error)") }
            }
        }
        for film in films { attempt { problems += try film.readable(in: store).wrong } }
        attempt { _ = try store.resources(after: nil, limit: 100) }
        attempt { _ = try store.totalSizeBytes() }
        attempt { _ = try store.evictionCandidates(after: nil, largerThan: -1, limit: 10) }
        attempt {
            // Existing resources grow, and missing ones are stored again.
            for film in films.prefix(4) {
                let found = try store.lookup(film.key)
                let generation = found?.generation ?? store.makeGeneration()
                let gaps = (found?.spans ?? ByteRangeSet()).gaps(in: ByteRange(lower: 500, upper: 70_000))
                try film.store(gaps.map { $0.lowerBound..<$0.upperBound }, of: generation, in: store)
            }
        }
        attempt { while try !store.sweepOrphans(limit: 64) {} }
        attempt { try store.makeDurable() }
        for film in films { attempt { problems += try film.readable(in: store).wrong } }
        attempt { try store.close() }
        return problems
    }
}
