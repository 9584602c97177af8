import CSpoolSystem

/// CRC32C, the check that tells whether stored bytes are still those that were written (RFC 3720 §12.1).
///
/// Computed by the CPU's own instruction where it has one, several GiB/s; by tables elsewhere. Finds decay and torn writes,
/// not intent: who can change the bytes can change the check.
package enum CRC32C {
    /// The bytes that one check takes.
    package static let byteCount = 4

    /// The check of `bytes` that follow others whose check is `check`; 0 where none came before.
    package static func of(_ bytes: UnsafeRawBufferPointer, after check: UInt32 = 0) -> UInt32 {
        spool_crc32c(check, bytes.baseAddress, bytes.count)
    }

    /// The same without the CPU's instruction: for comparison.
    package static func byTable(_ bytes: UnsafeRawBufferPointer, after check: UInt32 = 0) -> UInt32 {
        spool_crc32c_by_table(check, bytes.baseAddress, bytes.count)
    }

    /// The check of two runs of bytes one after the other, by their checks and the length of the second.
    /// - Complexity: O(log *secondCount*); no byte is looked at.
    package static func combined(_ first: UInt32, _ second: UInt32, secondCount: Int64) -> UInt32 {
        precondition(secondCount >= 0, "a run has no negative length: \(secondCount)")
        return spool_crc32c_combine(first, second, UInt64(secondCount))
    }

    /// What the checks are made with: `sse4.2`, `armv8` or `table`.
    package static var method: String { String(cString: spool_crc32c_method()) }
}
