import SpoolCore
import SpoolSystem

/// Reusable memory for opened blocks. It keeps the last ones, so that many small reads of a block
/// open it once.
///
/// The data files of a store share it. A user takes a block out and puts it back. When all blocks
/// are in use, a further one is allocated.
final class OpenedBlocks: Sendable {
    /// The opened bytes of one piece.
    final class Block: @unchecked Sendable {
        // Safe to share: one user at a time takes it out of the list, and the list is behind a
        // lock.
        let memory: UnsafeMutableRawBufferPointer
        /// The piece whose bytes are in memory, or nil.
        private(set) var piece: OpenedPiece?

        init() {
            memory = .allocate(byteCount: Int(Piece.blockBytes), alignment: 64)
        }

        deinit {
            EncryptionKey.wipe(memory)
            memory.deallocate()
        }

        /// Marks the block as empty. Called before its bytes are overwritten.
        func forget() { piece = nil }

        /// Records the piece whose bytes are in memory now.
        func holds(_ piece: OpenedPiece) { self.piece = piece }
    }

    /// The number of blocks that are kept: 1 MiB in total, for any number of files.
    private static let limit = 16
    private let blocks = Locked<[Block]>([])

    /// Returns a block for one user: the one with this piece's bytes if there is one, otherwise the
    /// one used longest ago.
    func take(_ piece: OpenedPiece) -> Block {
        let block = blocks.withLock { blocks -> Block? in
            if let index = blocks.lastIndex(where: { $0.piece == piece }) { return blocks.remove(at: index) }
            return blocks.count < Self.limit ? nil : blocks.removeFirst()
        }
        return block ?? Block()
    }

    func putBack(_ block: Block) {
        let superfluous = blocks.withLock { blocks -> Block? in
            blocks.append(block)
            return blocks.count > Self.limit ? blocks.removeFirst() : nil
        }
        // Released outside the lock, because the deinit overwrites the bytes.
        withExtendedLifetime(superfluous) {}
    }
}

/// The identity of an opened piece: everything that its seal is bound to.
///
/// The seal alone is not enough, because an attacker who can write the index may copy it to another
/// row. The seal does not open there. It must not match the bytes of the original row either, which
/// may still be in memory.
struct OpenedPiece: Hashable, Sendable {
    var generation: GenerationID
    var range: ByteRange
    var seal: Seal
}

/// Reusable memory for sealing.
final class SealingBuffers: Sendable {
    final class Buffer: @unchecked Sendable {
        // Safe to share: one user at a time takes it out of the list. It contains ciphertext only.
        let memory: UnsafeMutableRawBufferPointer

        init() {
            memory = .allocate(byteCount: SealingBuffers.byteCount, alignment: 4096)
        }

        deinit { memory.deallocate() }
    }

    /// The size of a buffer, in bytes, and thus the maximum size of one write to the disk.
    static let byteCount = 1 << 20
    /// The number of buffers that are kept: one for each lane that writes.
    private static let limit = 2
    private let buffers = Locked<[Buffer]>([])

    func use<R, E: Error>(_ body: (UnsafeMutableRawBufferPointer) throws(E) -> R) throws(E) -> R {
        let buffer = buffers.withLock { $0.popLast() } ?? Buffer()
        defer {
            buffers.withLock { buffers in
                if buffers.count < Self.limit { buffers.append(buffer) }
            }
        }
        return try body(buffer.memory)
    }
}
