import SpoolCore
import SpoolStore
import SpoolSystem

/// The bytes of one generation as blobs. Each blob lies in one block, so that one check covers it
/// and eviction removes it as a whole.
///
/// Every read verifies the blobs that it takes bytes from.
final class BlobFile: GenerationFile {
    /// Bytes that are read from a blob: all of them, or those that no later blob has.
    struct Extent {
        var range: ByteRange
        var piece: BlobPiece
    }

    private struct State {
        /// In order, without overlaps.
        var extents: [Extent] = []
        var size: Int64 = 0
        var isRetired = false
        /// Whether an entry names blobs of the file, so that they outlive the object.
        var isKept = false
    }

    private let place: BlobPlace
    private let generation: GenerationID
    private let key: ResourceKey
    private let state: Locked<State>

    init(_ place: BlobPlace, _ generation: GenerationID, _ key: ResourceKey, extents: [Extent] = []) {
        (self.place, self.generation, self.key) = (place, generation, key)
        state = Locked(State(extents: extents, size: extents.last?.range.upperBound ?? 0, isKept: !extents.isEmpty))
    }

    deinit {
        let (extents, isOver) = state.withLock { ($0.extents, $0.isRetired || !$0.isKept) }
        if isOver { remove(extents) }
    }

    var descriptor: OpenDescriptor? { nil }
    var size: Int64 { state.withLock { $0.size } }
    var allocatedBytes: Int64 { state.withLock { $0.extents.lazy.map(\.range.count).saturatedSum } }
    var isRetired: Bool { state.withLock { $0.isRetired } }
    func retire() { state.withLock { $0.isRetired = true } }

    /// Returns the extents of stored bytes, for the entry that will name them.
    func kept(_ spans: ByteRangeSet) -> [Extent] {
        state.withLock { state in
            state.isKept = true
            return state.extents.flatMap { extent in
                spans.intersection(extent.range).ranges.map { Extent(range: $0, piece: extent.piece) }
            }
        }
    }

    // MARK: Writing

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(StoreError) -> [Piece] {
        guard let whole = ByteRange(offset: offset, count: Int64(bytes.count)) else { return [] }
        var start = whole.lowerBound
        while let range = ByteRange(start, min(whole.upperBound, start - start % Piece.blockBytes + Piece.blockBytes)) {
            let part = UnsafeRawBufferPointer(rebasing: bytes[Int(range.lowerBound - offset)..<Int(range.upperBound - offset)])
            let piece = BlobPiece(range: range, check: CRC32C.of(part), serial: place.nextSerial())
            try place.put(Array(part), as: .bytes(piece, of: generation))
            insert(Extent(range: range, piece: piece))
            start = range.upperBound
        }
        return [Piece(range: whole)]
    }

    private func insert(_ new: Extent) {
        let covered = state.withLock { state in
            let (lower, upper) = state.extents.places(overlapping: new.range)
            let old = state.extents[lower..<upper]
            let rests = old.flatMap { extent in
                ByteRangeSet([extent.range]).subtracting(ByteRangeSet([new.range])).ranges.map { Extent(range: $0, piece: extent.piece) }
            }
            let all = (rests + [new]).sorted { $0.range.lowerBound < $1.range.lowerBound }
            state.extents.replaceSubrange(lower..<upper, with: all)
            state.size = max(state.size, new.range.upperBound)
            return old.filter { extent in !rests.contains { $0.piece == extent.piece } }
        }
        remove(covered)
    }

    private func remove(_ extents: some Sequence<Extent>) {
        for piece in Set(extents.map(\.piece)) {
            // A blob that stays by a fault has no entry, and goes when the store is opened.
            do throws(StoreError) { try place.remove(.bytes(piece, of: generation)) } catch {}
        }
    }

    // MARK: Reading

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StoreError) -> Int {
        let (extents, size) = state.withLock { state in
            let wanted = ByteRange(offset: offset, count: Int64(buffer.count)).map { state.extents.places(overlapping: $0) }
            return (wanted.map { Array(state.extents[$0.lower..<$0.upper]) } ?? [], state.size)
        }
        let count = Int(clamping: min(Int64(buffer.count), max(0, size - offset)))
        // A hole reads as zeros, as in a sparse file.
        UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]).initializeMemory(as: UInt8.self, repeating: 0)
        for extent in extents {
            guard let range = ByteRange(max(offset, extent.range.lowerBound), min(offset + Int64(count), extent.range.upperBound))
            else { continue }
            let bytes = try verified(extent.piece)
            let start = Int(range.lowerBound - extent.piece.range.lowerBound)
            UnsafeMutableRawBufferPointer(rebasing: buffer[Int(range.lowerBound - offset)...])
                .copyBytes(from: bytes[start..<start + Int(range.count)])
        }
        return count
    }

    private func verified(_ piece: BlobPiece) throws(StoreError) -> [UInt8] {
        let bytes = try place.read(.bytes(piece, of: generation), count: Int(piece.range.count))
        guard bytes.count == Int(piece.range.count), bytes.withUnsafeBytes({ CRC32C.of($0) }) == piece.check else {
            throw .corrupt(key, piece.range)
        }
        return bytes
    }

    func admit(_ pieces: [Piece]) -> [Damage] { [] }

    func damage(in pieces: [Piece]) -> [Damage] {
        let wanted = ByteRangeSet(pieces.map(\.range))
        let found = state.withLock { state in state.extents.filter { !wanted.intersection($0.range).ranges.isEmpty } }
        let lost = wanted.subtracting(ByteRangeSet(found.map(\.range))).ranges.map { Damage(range: $0) }
        let damaged = found.compactMap { extent -> Damage? in
            do throws(StoreError) {
                _ = try verified(extent.piece)
                return nil
            } catch {
                if case .corrupt = error { return Damage(range: extent.range) }
                return Damage(range: extent.range, cause: error)
            }
        }
        return (lost + damaged).sorted { $0.range.lowerBound < $1.range.lowerBound }
    }

    // MARK: Freeing

    func punch(_ range: ByteRange) -> Bool {
        guard let whole = range.wholeBlocks else { return false }
        let freed = state.withLock { state in
            defer { state.extents.removeAll { whole.contains($0.range) } }
            return state.extents.filter { whole.contains($0.range) }
        }
        remove(freed)
        return true
    }
}

extension [BlobFile.Extent] {
    /// Returns the places of the extents that overlap a range.
    fileprivate func places(overlapping range: ByteRange) -> (lower: Int, upper: Int) {
        func first(_ isBehind: (ByteRange) -> Bool) -> Int {
            var (low, high) = (0, count)
            while low < high {
                let middle = (low + high) / 2
                if isBehind(self[middle].range) { high = middle } else { low = middle + 1 }
            }
            return low
        }
        return (first { $0.upperBound > range.lowerBound }, first { $0.lowerBound >= range.upperBound })
    }
}
