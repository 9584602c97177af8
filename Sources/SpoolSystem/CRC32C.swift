import CSpoolSystem

/// CRC32C, the check that tells whether stored bytes are still those that were written (RFC 3720 §12.1).
///
/// Computed by what the CPU has for it, tens of GiB/s; by tables elsewhere. Finds decay and torn writes, not intent: who can change the bytes can
/// change the check.
package enum CRC32C {
    /// The bytes that one check takes.
    package static let byteCount = 4

    /// The check of `bytes` that follow others whose check is `check`; 0 where none came before.
    package static func of(_ bytes: UnsafeRawBufferPointer, after check: UInt32 = 0) -> UInt32 {
        spool_crc32c(check, bytes.baseAddress, bytes.count)
    }

    /// The same in one way, for comparison; in the fastest before it where this CPU does not have that.
    package static func of(_ bytes: UnsafeRawBufferPointer, after check: UInt32 = 0, by method: Method) -> UInt32 {
        spool_crc32c_by(method.rawValue, check, bytes.baseAddress, bytes.count)
    }

    /// The check of two runs of bytes one after the other, by their checks and the length of the second.
    /// - Complexity: O(log *secondCount*); no byte is looked at.
    package static func combined(_ first: UInt32, _ second: UInt32, secondCount: Int64) -> UInt32 {
        precondition(secondCount >= 0, "a run has no negative length: \(secondCount)")
        return spool_crc32c_combine(first, second, UInt64(secondCount))
    }

    /// How a check is made, from the slowest to the fastest.
    package enum Method: Int32, CaseIterable {
        /// On any CPU.
        case table
        /// The CPU's own instruction: SSE 4.2, the CRC extension of ARMv8.
        case instruction
        /// Carry-less products of 64 bytes at a time: AVX-512 with VPCLMULQDQ.
        case products
    }

    /// The ways that this CPU has.
    package static var methods: [Method] { Method.allCases.filter { $0.rawValue <= spool_crc32c_best() } }
}
