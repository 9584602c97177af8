public import SpoolBlobs
import SpoolCore
import SpoolStore
import SpoolSystem

/// The rules for every `BlobStore`, and for the store of a cache over it.
///
/// The cases end a process between any two writes, lose the last writes, and return short and
/// changed blobs. Each has a place of its own, named after the case, and opens it several times.
///
/// ```swift
/// let contract = BlobStoreContract { place in blobs }  // the same blobs for the same place
/// let violations = contract.violations()  // empty when the blobs keep the contract
/// ```
public struct BlobStoreContract {
    /// Opens the place of that name, creating it if it is missing.
    public typealias Open = (_ place: String) throws -> any BlobStore

    private let open: Open

    /// Creates the contract.
    public init(open: @escaping Open) { self.open = open }

    /// Runs every case.
    ///
    /// - Returns: The violations, in the order of the cases.
    public func violations() -> [ContractViolation] {
        let reads = caught("blobs-are-read-in-parts") { try Self.readsDiffer(in: open("blobs-are-read-in-parts")) }
        let lists = caught("the-list-has-every-blob-once") { try Self.listDiffers(in: open("the-list-has-every-blob-once")) }
        let store = StoreContract(isPersistent: true) { (place) throws(StoreError) in try openStore(place) }
        return reads + lists + store.violations() + faults()
    }

    private func openStore(_ place: String) throws(StoreError) -> any ResourceStore {
        let blobs: any BlobStore
        do { blobs = try open(place) } catch { throw .index(code: 0, message: "\(error)") }
        return try blobs.openStore()
    }

    private func caught(_ name: String, _ body: () throws -> [String]) -> [ContractViolation] {
        do {
            return try body().map { ContractViolation(name, $0) }
        } catch {
            return [ContractViolation(name, "threw \(error)")]
        }
    }

    // MARK: The five members

    /// A blob of the greatest size, and its longest name.
    private static let (longest, full) = (
        String(repeating: "a-9", count: 33) + "z", (0..<Int(Piece.blockBytes)).map { UInt8(truncatingIfNeeded: $0 % 251) }
    )

    private static func readsDiffer(in blobs: any BlobStore) throws -> [String] {
        try blobs.put(full, as: longest)
        try blobs.put([7], as: "d-1-0-1-5-2")
        var found: [String] = []
        if try blobs.read(0..<full.count, of: longest) != full { found.append("a blob of 64 KiB differs") }
        if try blobs.read(100..<300, of: longest) != Array(full[100..<300]) { found.append("a part of a blob differs") }
        if try blobs.read(0..<9, of: "d-1-0-1-5-2") != [7] { found.append("a read behind the end returns more or less than the rest") }
        if try !blobs.read(0..<9, of: "d-1-0-1-5-3").isEmpty { found.append("a blob that does not exist has bytes") }
        return found
    }

    private static func listDiffers(in blobs: any BlobStore) throws -> [String] {
        for size in 1...300 { try blobs.put(Array(full.prefix(size)), as: "e-\(size)") }
        try blobs.remove("e-5")
        try blobs.remove("e-5")
        let sizes = try blobs.list().map { "\($0.name) \($0.byteCount)" }.sorted()
        let wanted = (1...300).filter { $0 != 5 }.map { "e-\($0) \($0)" }.sorted()
        return sizes == wanted ? [] : ["\(sizes.count) blobs instead of \(wanted.count), or of other sizes"]
    }

    // MARK: Faults

    /// The most writes of the life that the cases end early.
    private static let mostWrites = 1000
    /// The numbers of last writes that are lost.
    private static let lostWrites = [0, 1, 3, 8]

    private func faults() -> [ContractViolation] {
        var found: [ContractViolation] = []
        for lost in Self.lostWrites {
            for last in 0..<Self.mostWrites {
                let name = "a-process-ends-\(last)-\(lost)"
                var isOver = false
                found += caught(name) {
                    let mortal = MortalBlobs(try open(name), writes: last)
                    isOver = Self.live(on: mortal)
                    try mortal.forget(lost)
                    return try Self.wrongBytes(in: open(name))
                }
                if isOver { break }
            }
        }
        for lie in LyingBlobs.Lie.allCases {
            let name = "a-place-lies-\(lie)"
            found += caught(name) {
                _ = Self.live(on: try open(name))
                return try Self.wrongBytes(in: LyingBlobs(try open(name), lie))
            }
        }
        return found
    }

    private static let films = (0..<3).map { StoreSample("film-\($0)", length: 4 * Piece.blockBytes) }

    /// Stores, replaces, evicts and removes, until the place fails.
    ///
    /// - Returns: Whether the place lived to the end.
    private static func live(on blobs: any BlobStore) -> Bool {
        do throws(StoreError) {
            let store = try blobs.openStore()
            for film in films { try film.store([0..<70_000, 131_072..<200_000], of: store.makeGeneration(), in: store) }
            try store.makeDurable()
            let next = store.makeGeneration()
            let file = try films[0].store([0..<100_000], of: next, in: store)
            try store.makeDurable()
            _ = try store.evict(.of(0..<Piece.blockBytes), of: next, in: file)
            try films[0].store([10..<20_000], of: next, in: store)
            _ = try store.setPinned(films[1].key, true, time: films[1].time)
            _ = try store.remove(films[2].key)
            try store.close()
            return true
        } catch {
            return false
        }
    }

    /// Opens the store twice, and returns what is wrong with its bytes. Lost bytes are right.
    private static func wrongBytes(in blobs: any BlobStore) throws -> [String] {
        var found: [String] = []
        for _ in 0..<2 {
            let store = try blobs.openStore()
            for film in films {
                guard let resource = try store.lookup(film.key) else { continue }
                let file = try store.dataFile(of: resource.generation, key: film.key, fileExtension: film.fileExtension)
                for range in resource.spans.ranges {
                    let (offset, count) = (range.lowerBound, Int(range.count))
                    do throws(StoreError) {
                        let bytes = try file.bytes(at: offset, count: count)
                        let wanted = film.pattern(resource.generation.rawValue, at: offset, count: count)
                        if bytes != wanted { found.append("bytes \(range) of \(film.key) are those of no version, or of another one") }
                    } catch {
                        guard case .corrupt = error else { throw error }
                        if blobs is LyingBlobs { continue }
                        found.append("bytes \(range) of \(film.key) were stored and are damaged")
                    }
                }
            }
            try store.close()
        }
        return found
    }
}

/// A place whose process ends after a number of writes.
private final class MortalBlobs: BlobStore {
    private enum Write {
        case put(String)
        case remove(String, [UInt8])
    }

    private struct State {
        var left: Int
        var journal: [Write] = []
    }

    private let base: any BlobStore
    private let state: Locked<State>

    init(_ base: any BlobStore, writes: Int) {
        self.base = base
        state = Locked(State(left: writes))
    }

    private func note(_ write: Write) throws {
        try state.withLock { state in
            guard state.left > 0 else { throw StoreError.closed }
            state.left -= 1
            state.journal.append(write)
        }
    }

    /// Takes the last writes back, as a place does that lost them.
    func forget(_ count: Int) throws {
        let lost = state.withLock { state in
            state.left = 0
            return state.journal.suffix(count)
        }
        for write in lost.reversed() {
            switch write {
            case .put(let name): try base.remove(name)
            case .remove(let name, let bytes): try base.put(bytes, as: name)
            }
        }
    }

    func put(_ bytes: [UInt8], as name: String) throws {
        try note(.put(name))
        try base.put(bytes, as: name)
    }

    func remove(_ name: String) throws {
        let bytes = try base.read(0..<(64 << 20), of: name)
        guard !bytes.isEmpty else { return }
        try note(.remove(name, bytes))
        try base.remove(name)
    }

    func read(_ range: Range<Int>, of name: String) throws -> [UInt8] { try base.read(range, of: name) }
    func list() throws -> [BlobAttributes] { try base.list() }
    func freeBytes() throws -> Int64? { try base.freeBytes() }
}

/// A place that returns other bytes than it got.
private final class LyingBlobs: BlobStore {
    enum Lie: CaseIterable {
        case short, changed, zeros, none
    }

    private let base: any BlobStore
    private let lie: Lie

    init(_ base: any BlobStore, _ lie: Lie) { (self.base, self.lie) = (base, lie) }

    func read(_ range: Range<Int>, of name: String) throws -> [UInt8] {
        var bytes = try base.read(range, of: name)
        // Entries are read truly, so that their blobs are reached.
        guard name.hasPrefix("d"), let last = bytes.last else { return bytes }
        switch lie {
        case .short: bytes.removeLast()
        case .changed: bytes[bytes.count - 1] = ~last
        case .zeros: bytes = [UInt8](repeating: 0, count: bytes.count)
        case .none: bytes = []
        }
        return bytes
    }

    func put(_ bytes: [UInt8], as name: String) throws { try base.put(bytes, as: name) }
    func list() throws -> [BlobAttributes] { try base.list() }
    func remove(_ name: String) throws { try base.remove(name) }
    func freeBytes() throws -> Int64? { try base.freeBytes() }
}
