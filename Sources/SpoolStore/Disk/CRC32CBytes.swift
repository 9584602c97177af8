import SpoolCore
import SpoolSystem

/// CRC32C checks in the form that the index stores: four bytes, little-endian.
enum CRC32CBytes {
    static func encode(_ check: UInt32) -> [UInt8] {
        (0..<CRC32C.byteCount).map { UInt8(truncatingIfNeeded: check >> (8 * UInt32($0))) }
    }

    static func decode(_ bytes: some Collection<UInt8>) -> UInt32 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    static func combined(_ first: UInt32, _ second: UInt32, secondCount: Int64) -> UInt32 {
        CRC32C.combined(first, second, secondCount: secondCount)
    }

    /// Returns the checks of the blocks that contain the bytes at `offset`.
    static func checks(of bytes: UnsafeRawBufferPointer, at offset: Int64) -> PieceChecks {
        let range = ByteRange(lower: offset, upper: offset + Int64(bytes.count))
        let encoded = [UInt8](unsafeUninitializedCapacity: range.blockCount * CRC32C.byteCount) { output, count in
            var done = 0
            while done < bytes.count {
                let part = min(bytes.count - done, Int(Piece.blockBytes - (offset + Int64(done)) % Piece.blockBytes))
                let check = CRC32C.of(UnsafeRawBufferPointer(rebasing: bytes[done..<done + part]))
                for byte in 0..<CRC32C.byteCount { output[count + byte] = UInt8(truncatingIfNeeded: check >> (8 * UInt32(byte))) }
                count += CRC32C.byteCount
                done += part
            }
        }
        return PieceChecks(.crc32c, encoded)
    }

    /// Whether `bytes` match the check of a block. A check of another kind never matches here.
    static func matches(_ checks: PieceChecks, _ block: Int, _ bytes: UnsafeRawBufferPointer) -> Bool {
        checks.kind == .crc32c && decode(checks[block]) == CRC32C.of(bytes)
    }
}
