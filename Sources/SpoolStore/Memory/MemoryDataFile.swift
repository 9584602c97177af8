import SpoolCore
import SpoolSystem

/// The bytes of one generation in memory, in pages that are allocated at their first write.
final class MemoryDataFile: GenerationFile {
    /// The size of a page, in bytes.
    static let pageBytes = Int(Piece.blockBytes)

    private struct State {
        var pages: [Int64: [UInt8]] = [:]
        var size: Int64 = 0
        /// Whether the generation was permanently removed from the store. Holders of the file may
        /// still read it.
        var isRetired = false
    }

    private let state = Locked(State())
    private let budget: MemoryBudget

    init(budget: MemoryBudget) {
        self.budget = budget
    }

    deinit { budget.giveBack(pages: state.withLock { $0.pages.count }) }

    var descriptor: OpenDescriptor? { nil }

    /// The apparent size, in bytes.
    var size: Int64 { state.withLock { $0.size } }
    /// The memory that the pages use, in bytes.
    var allocatedBytes: Int64 { state.withLock { Int64($0.pages.count * Self.pageBytes) } }
    var isRetired: Bool { state.withLock { $0.isRetired } }

    func retire() { state.withLock { $0.isRetired = true } }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(StoreError) -> [Piece] {
        precondition(offset >= 0 && offset <= .max - Int64(bytes.count), "a write begins at an offset: \(offset)")
        guard !budget.isClosed else { throw .closed }
        try state.withLock { (state) throws(StoreError) in
            let runs = Self.runs(offset: offset, count: bytes.count)
            let missing = runs.filter { state.pages[$0.page] == nil }
            guard budget.take(pages: missing.count) else { throw .full }
            for run in missing { state.pages[run.page] = [UInt8](repeating: 0, count: Self.pageBytes) }
            for run in runs {
                state.pages[run.page]?.withUnsafeMutableBytes { page in
                    UnsafeMutableRawBufferPointer(rebasing: page[run.inPage])
                        .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[run.inBuffer]))
                }
            }
            state.size = max(state.size, offset + Int64(bytes.count))
        }
        // Pieces have no checks: memory is trusted, and no byte outlives the process.
        return ByteRange(offset, offset + Int64(bytes.count)).map { [Piece(range: $0)] } ?? []
    }

    func damage(in pieces: [Piece]) -> [Damage] { [] }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StoreError) -> Int {
        precondition(offset >= 0, "a read begins at an offset: \(offset)")
        return state.withLock { state in
            let count = Int(clamping: min(Int64(buffer.count), max(0, state.size - offset)))
            for run in Self.runs(offset: offset, count: count) {
                let target = UnsafeMutableRawBufferPointer(rebasing: buffer[run.inBuffer])
                if let page = state.pages[run.page] {
                    page.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[run.inPage])) }
                } else {
                    // A hole reads as zeros, as in a sparse file.
                    target.initializeMemory(as: UInt8.self, repeating: 0)
                }
            }
            return count
        }
    }

    /// Frees the pages that are completely inside `range`. Returns false when the range contains no
    /// whole page.
    @discardableResult
    func punch(_ range: ByteRange) -> Bool {
        guard let whole = range.wholeBlocks else { return false }
        let freed = state.withLock { state in
            // A page is a block.
            let inside = state.pages.keys.filter { whole.contains($0 * Int64(Self.pageBytes)) }
            for page in inside { state.pages[page] = nil }
            return inside.count
        }
        budget.giveBack(pages: freed)
        return true
    }

    // MARK: Pages

    /// The part of a transfer that is in one page.
    private struct Run {
        var page: Int64
        var inPage: Range<Int>
        var inBuffer: Range<Int>
    }

    private static func runs(offset: Int64, count: Int) -> [Run] {
        var runs: [Run] = []
        var done = 0
        while done < count {
            let position = offset + Int64(done)
            let start = Int(position % Int64(pageBytes))
            let length = min(count - done, pageBytes - start)
            runs.append(
                Run(page: position / Int64(pageBytes), inPage: start..<start + length, inBuffer: done..<done + length))
            done += length
        }
        return runs
    }
}

/// The limit on the memory of all files of one store.
final class MemoryBudget: Sendable {
    private struct State {
        var freePages: Int
        var isClosed = false
    }

    private let state: Locked<State>

    init(capacityBytes: Int64) {
        state = Locked(State(freePages: Int(clamping: capacityBytes / Int64(MemoryDataFile.pageBytes))))
    }

    /// Takes pages from the budget. Takes none and returns false when not enough are left.
    func take(pages: Int) -> Bool {
        state.withLock { state in
            guard pages <= state.freePages else { return false }
            state.freePages -= pages
            return true
        }
    }

    func giveBack(pages: Int) {
        state.withLock { $0.freePages += pages }
    }

    /// Refuses all writes from now on.
    func close() { state.withLock { $0.isClosed = true } }

    var isClosed: Bool { state.withLock { $0.isClosed } }
}
