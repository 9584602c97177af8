import CSpoolSystem

/// CRC32C, the check that detects changes of stored bytes (RFC 3720 §12.1).
///
/// The CPU's own instructions compute it at tens of GiB/s; tables compute it on other CPUs. It
/// detects decay and torn writes. It does not detect an attacker, who can change the check together
/// with the bytes.
package enum CRC32C {
    /// The size of one check, in bytes.
    package static let byteCount = 4

    /// Returns the check of `bytes` that follow bytes with the check `check`, or 0 for the first
    /// ones.
    package static func of(_ bytes: UnsafeRawBufferPointer, after check: UInt32 = 0) -> UInt32 {
        spool_crc32c(check, bytes.baseAddress, bytes.count)
    }

    /// Returns the same check, computed by one method, for comparison. If this CPU does not have
    /// the method, the fastest slower one is used.
    package static func of(_ bytes: UnsafeRawBufferPointer, after check: UInt32 = 0, by method: Method) -> UInt32 {
        spool_crc32c_by(method.rawValue, check, bytes.baseAddress, bytes.count)
    }

    /// Returns the check of two adjacent runs of bytes, from their checks and the length of the
    /// second run.
    /// - Complexity: O(log *secondCount*). The bytes are not read.
    package static func combined(_ first: UInt32, _ second: UInt32, secondCount: Int64) -> UInt32 {
        precondition(secondCount >= 0, "a run has no negative length: \(secondCount)")
        return spool_crc32c_combine(first, second, UInt64(secondCount))
    }

    /// The methods of computing a check, from the slowest to the fastest.
    package enum Method: Int32, CaseIterable {
        /// Tables, on any CPU.
        case table
        /// The CPU's own instruction: SSE 4.2, or the CRC extension of ARMv8.
        case instruction
        /// Carry-less products of 64 bytes at a time: AVX-512 with VPCLMULQDQ.
        case products
    }

    /// The methods that this CPU supports.
    package static var methods: [Method] { Method.allCases.filter { $0.rawValue <= spool_crc32c_best() } }
}
