import SpoolCore
import SpoolSystem

// Verifies plain bytes on the disk: compares each block with its CRC32C in the index.

extension StoreDataFile {
    /// Returns the blocks of `pieces` that differ from the written ones or can't be read.
    ///
    /// One read covers as many blocks as a buffer holds: 1 GiB takes 0.07 s of CPU with reads of 1
    /// MiB and 0.10 s with reads of one block. When no buffer is free, each read covers one block.
    func damageOfPlain(in pieces: [Piece], with buffers: BufferPool) -> [Damage] {
        if let buffer = buffers.take() {
            return withExtendedLifetime(buffer) { pieces.flatMap { damage(in: $0, buffer.bytes) } }
        }
        return withUnsafeTemporaryAllocation(byteCount: Int(Piece.blockBytes), alignment: 64) { memory in
            pieces.flatMap { damage(in: $0, memory) }
        }
    }

    /// Reads a range into `buffer`. Returns false when some of its bytes are missing, differ from
    /// the written ones, or do not open.
    ///
    /// - Parameter pieces: the pieces that the range cuts at most at borders of blocks.
    func readSound(into buffer: UnsafeMutableRawBufferPointer, at range: ByteRange, of pieces: [Piece]) throws(StoreError) -> Bool {
        guard sealing == nil || admit(pieces).isEmpty else { return false }
        do throws(StoreError) { guard try read(into: buffer, at: range.lowerBound) == buffer.count else { return false } } catch {
            guard case .corrupt = error else { throw error }
            return false
        }
        // The read of sealed bytes has compared them.
        return sealing != nil
            || pieces.compactMap { $0.blocks(touching: range) }.allSatisfy { piece in
                let bytes = buffer[Int(piece.range.lowerBound - range.lowerBound)...].prefix(Int(piece.range.count))
                return piece.matches(UnsafeRawBufferPointer(rebasing: bytes))
            }
    }

    /// - Parameter memory: at least as large as a block.
    private func damage(in piece: Piece, _ memory: UnsafeMutableRawBufferPointer) -> [Damage] {
        guard let checks = piece.checks else { return [] }
        var damage: [Damage] = []
        var blocks = Array(piece.blockRanges)[...]
        while let first = blocks.first {
            let run = blocks.prefix { $0.upperBound - first.lowerBound <= Int64(memory.count) }
            damage += self.damage(in: run, checks, memory)
            blocks = blocks.dropFirst(run.count)
        }
        return damage
    }

    /// - Parameter run: adjacent blocks; their indices are also those of their checks in `checks`.
    private func damage(in run: ArraySlice<ByteRange>, _ checks: PieceChecks, _ memory: UnsafeMutableRawBufferPointer) -> [Damage] {
        guard let first = run.first, let last = run.last else { return [] }
        let whole = ByteRange(lower: first.lowerBound, upper: last.upperBound)
        let bytes = UnsafeMutableRawBufferPointer(rebasing: memory[..<Int(whole.count)])
        var cause: StoreError?
        do throws(SystemError) {
            let count = try use().read(into: bytes, at: whole.lowerBound)
            if count == bytes.count { return damage(in: run, checks, of: UnsafeRawBufferPointer(bytes)) }
        } catch { cause = StoreError(error) }
        // A run of several blocks failed: check each block alone, so that only the unreadable ones
        // count as lost.
        return run.count == 1 ? [Damage(range: whole, cause: cause)] : run.indices.flatMap { damage(in: run[$0...$0], checks, memory) }
    }

    /// - Parameter bytes: the bytes of the run.
    private func damage(in run: ArraySlice<ByteRange>, _ checks: PieceChecks, of bytes: UnsafeRawBufferPointer) -> [Damage] {
        var start = 0
        return run.indices.compactMap { block in
            defer { start += Int(run[block].count) }
            let isSound = CRC32CBytes.matches(checks, block, UnsafeRawBufferPointer(rebasing: bytes[start..<start + Int(run[block].count)]))
            return isSound ? nil : Damage(range: run[block])
        }
    }
}

extension Piece {
    /// Whether these bytes of the piece match its checks. Pieces without checks match.
    package func matches(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count == range.count else { return false }
        guard let checks else { return true }
        return blockRanges.enumerated().allSatisfy { block, blockRange in
            let start = Int(blockRange.lowerBound - range.lowerBound)
            return CRC32CBytes.matches(checks, block, UnsafeRawBufferPointer(rebasing: bytes[start..<start + Int(blockRange.count)]))
        }
    }
}
