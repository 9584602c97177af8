import SpoolCore
import SpoolSystem

/// Memory for opened blocks, which is used again, and keeps the last ones: many small reads of a block open it once.
///
/// Shared by the data files of a store. Who uses a block takes it out and puts it back; when all are out, another one is made.
final class OpenedBlocks: Sendable {
    /// The bytes of one piece, opened.
    final class Block: @unchecked Sendable {
        // Safe to share: one user at a time takes it out of the list, and the list is behind a lock.
        let memory: UnsafeMutableRawBufferPointer
        /// Whose bytes these are; nil for none.
        private(set) var piece: OpenedPiece?

        init() {
            memory = .allocate(byteCount: Int(Piece.blockBytes), alignment: 64)
        }

        deinit {
            EncryptionKey.wipe(memory)
            memory.deallocate()
        }

        /// Before its bytes are overwritten.
        func forget() { piece = nil }

        /// Notes whose bytes are in it now.
        func holds(_ piece: OpenedPiece) { self.piece = piece }
    }

    /// The blocks that are kept: 1 MiB, whatever the number of files.
    private static let limit = 16
    private let blocks = Locked<[Block]>([])

    /// A block for one user: the one with this piece's bytes, if there is one; else the one that was used longest ago.
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
        // Let go of outside the lock: it overwrites its bytes.
        withExtendedLifetime(superfluous) {}
    }
}

/// What a piece was opened as: everything that its seal is bound to.
///
/// The seal alone does not do: whoever can write the index may copy it to another row. There it does not open, and must not be taken for
/// opened either, because the bytes of the row that it came from are still in memory.
struct OpenedPiece: Hashable, Sendable {
    var generation: GenerationID
    var range: ByteRange
    var seal: Seal
}

/// Memory to seal into, which is used again.
final class SealingBuffers: Sendable {
    final class Buffer: @unchecked Sendable {
        // Safe to share: one user at a time takes it out of the list. It only ever holds ciphertext.
        let memory: UnsafeMutableRawBufferPointer

        init() {
            memory = .allocate(byteCount: SealingBuffers.byteCount, alignment: 4096)
        }

        deinit { memory.deallocate() }
    }

    /// The size of a buffer, in bytes: what one write to the disk takes at most.
    static let byteCount = 1 << 20
    /// The buffers that are kept: one for each lane that writes.
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
