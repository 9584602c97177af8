import SpoolCore
import SpoolSystem

/// The parts that an encrypted data file has in addition: its seals, and the objects that all
/// encrypted files of the store share.
struct FileSealing: Sendable {
    let key: ResourceKey
    let sealer: PieceSealer
    let shared: SealedFileParts
    let table = Locked(SealTable())

    /// Returns the piece that contains the byte at `offset`, if that piece was written or admitted.
    func piece(at offset: Int64) -> (range: ByteRange, seal: Seal)? { table.withLock { $0.piece(at: offset) } }
}

/// The objects that the encrypted data files of a store share.
final class SealedFileParts: Sendable {
    let opened = OpenedBlocks()
    let buffers = SealingBuffers()
    let random: any RandomSource

    init(random: any RandomSource) {
        self.random = random
    }
}

// Ciphertext has the same length and place in the file as its plaintext. A piece is read and opened
// as a whole.

extension StoreDataFile {
    // MARK: Writing

    func seal(
        _ bytes: UnsafeRawBufferPointer, at offset: Int64, _ sealing: FileSealing,
        write: (UnsafeRawBufferPointer, Int64) throws(StoreError) -> Void
    ) throws(StoreError) -> PieceChecks {
        var checks: [UInt8] = []
        checks.reserveCapacity((bytes.count / Int(Piece.blockBytes) + 2) * Seal.byteCount)
        try sealing.shared.buffers.use { (buffer) throws(StoreError) in
            var done = 0
            while done < bytes.count {
                let start = offset + Int64(done)
                // Each pass ends at a block border, because a seal covers one block.
                let limit = min(bytes.count - done, buffer.count - Int(start % Piece.blockBytes))
                let turn = UnsafeRawBufferPointer(rebasing: bytes[done..<done + limit])
                let seals = sealBlocks(turn, at: start, into: buffer, sealing)
                try write(UnsafeRawBufferPointer(rebasing: buffer[..<limit]), start)
                for (range, seal) in seals {
                    seal.encode(into: &checks)
                    sealing.table.withLock { $0.enter(range, seal) }
                }
                done += limit
            }
        }
        return PieceChecks(.sealed, checks)
    }

    private func sealBlocks(
        _ bytes: UnsafeRawBufferPointer, at offset: Int64, into buffer: UnsafeMutableRawBufferPointer, _ sealing: FileSealing
    ) -> [(ByteRange, Seal)] {
        var seals: [(ByteRange, Seal)] = []
        var done = 0
        while done < bytes.count {
            let start = offset + Int64(done)
            let end = min(done + Int(Piece.blockBytes - start % Piece.blockBytes), bytes.count)
            let seal = sealing.sealer.seal(
                UnsafeRawBufferPointer(rebasing: bytes[done..<end]), at: start,
                into: UnsafeMutableRawBufferPointer(rebasing: buffer[done..<end]))
            seals.append((ByteRange(lower: start, upper: offset + Int64(end)), seal))
            done = end
        }
        return seals
    }

    // MARK: Reading

    /// Reads bytes of pieces that were written or admitted. Returns fewer bytes when no known piece
    /// continues the range. Throws `.corrupt` when the file reaches beyond `offset` but has no
    /// known piece there.
    func readSealed(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, _ sealing: FileSealing
    ) throws(StoreError) -> Int {
        var done = 0
        while done < buffer.count {
            let position = offset + Int64(done)
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            guard let count = try readPiece(into: rest, at: position, sealing, .waiting) else {
                if done == 0, try isStored(position) { throw .corrupt(sealing.key, position.toEndOfBlock) }
                return done
            }
            done += count
        }
        return done
    }

    /// Reads bytes of known pieces as far as the page cache has them and they open. The caller
    /// reads the others with `readSealed`.
    ///
    /// The call is not ordered with the writes of the lane. While a write replaces a piece, its
    /// bytes may match neither the old seal nor the new one. Such a piece does not open.
    func readResidentSealed(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, _ sealing: FileSealing) -> Int {
        guard let handle = openHandle, let descriptor = handle.descriptor else { return 0 }
        defer { withExtendedLifetime(handle) {} }
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            do throws(StoreError) {
                guard let count = try readPiece(into: rest, at: offset + Int64(done), sealing, .resident(descriptor)) else { return done }
                done += count
            } catch {
                // The next `readSealed` of these bytes waits for the disk and throws the error.
                return done
            }
        }
        return done
    }

    /// The way in which a read gets the bytes of a piece.
    private enum DiskRead {
        case waiting
        /// From the page cache of this descriptor; other bytes count as missing.
        case resident(Int32)
    }

    /// Reads the bytes at `position` up to the end of their piece or of `buffer`.
    ///
    /// - Returns: the number of bytes, or nil when no piece at `position` is known.
    private func readPiece(
        into buffer: UnsafeMutableRawBufferPointer, at position: Int64, _ sealing: FileSealing, _ way: DiskRead
    ) throws(StoreError) -> Int? {
        guard let (range, seal) = sealing.piece(at: position) else { return nil }
        guard position == range.lowerBound, buffer.count >= range.count else {
            return try copy(range, seal, from: position, into: buffer, sealing, way)
        }
        // The usual case: `buffer` has room for the whole piece, which is opened in place.
        return try open(range, seal, in: UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(range.count)]), sealing, way)
    }

    /// Opens the whole piece in a block of memory of its own and copies the requested part.
    private func copy(
        _ range: ByteRange, _ seal: Seal, from position: Int64, into buffer: UnsafeMutableRawBufferPointer, _ sealing: FileSealing,
        _ way: DiskRead
    ) throws(StoreError) -> Int {
        let piece = OpenedPiece(generation: generation, range: range, seal: seal)
        let block = sealing.shared.opened.take(piece)
        defer { sealing.shared.opened.putBack(block) }
        let bytes = UnsafeMutableRawBufferPointer(rebasing: block.memory[..<Int(range.count)])
        if block.piece != piece {
            block.forget()
            _ = try open(range, seal, in: bytes, sealing, way)
            block.holds(piece)
        }
        let wanted = bytes[Int(position - range.lowerBound)...].prefix(buffer.count)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: wanted))
        return wanted.count
    }

    /// Reads a piece and opens it in the same memory.
    ///
    /// - Returns: the size of the piece.
    private func open(
        _ range: ByteRange, _ seal: Seal, in memory: UnsafeMutableRawBufferPointer, _ sealing: FileSealing, _ way: DiskRead
    ) throws(StoreError) -> Int {
        let count: Int
        switch way {
        case .waiting:
            do throws(SystemError) { count = try use().read(into: memory, at: range.lowerBound) } catch { throw StoreError(error) }
        case .resident(let descriptor):
            count = SpoolSystem.readResident(descriptor: descriptor, into: memory, offset: range.lowerBound)
        }
        guard count == memory.count, sealing.sealer.open(memory, at: range.lowerBound, seal) else { throw .corrupt(sealing.key, range) }
        return memory.count
    }

    private func isStored(_ position: Int64) throws(StoreError) -> Bool {
        do throws(SystemError) { return try position < status().size } catch { throw StoreError(error) }
    }

    // MARK: Checking

    /// Opens the blocks of the pieces, and admits those that match their seals.
    func damageOfSealed(in pieces: [Piece], _ sealing: FileSealing) -> [Damage] {
        pieces.flatMap { piece -> [Damage] in
            let refused = admitSealed([piece], sealing)
            return refused.isEmpty ? piece.blockRanges.compactMap { damage(in: $0, sealing) } : refused
        }
    }

    private func damage(in range: ByteRange, _ sealing: FileSealing) -> Damage? {
        guard let (whole, seal) = sealing.piece(at: range.lowerBound) else { return Damage(range: range) }
        let piece = OpenedPiece(generation: generation, range: whole, seal: seal)
        let block = sealing.shared.opened.take(piece)
        defer { sealing.shared.opened.putBack(block) }
        // Bytes that an earlier read left in memory are no evidence about the disk.
        block.forget()
        do throws(StoreError) {
            _ = try open(whole, seal, in: UnsafeMutableRawBufferPointer(rebasing: block.memory[..<Int(whole.count)]), sealing, .waiting)
            block.holds(piece)
            return nil
        } catch {
            if case .corrupt = error { return Damage(range: range) }
            return Damage(range: range, cause: error)
        }
    }

    /// Enters the seals of pieces from an earlier opening. Refuses pieces without seals, because
    /// such bytes are not authenticated.
    func admitSealed(_ pieces: [Piece], _ sealing: FileSealing) -> [Damage] {
        pieces.flatMap { piece -> [Damage] in
            guard piece.checks?.kind == .sealed else { return piece.blockRanges.map { Damage(range: $0) } }
            sealing.table.withLock { $0.enter(piece) }
            return []
        }
    }
}

extension Int64 {
    /// The bytes from this offset to the end of its block.
    fileprivate var toEndOfBlock: ByteRange { ByteRange(lower: self, upper: (self / Piece.blockBytes).nextMultiple(of: Piece.blockBytes)) }
}
