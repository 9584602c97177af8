import CSpoolSystem
import SpoolLibc

/// Whether the first and the last page of a range are in the page cache, so that sending the range
/// will (almost certainly) not wait for the disk.
///
/// Of a short range, only the last page is examined. Files are usually read in order, so the last
/// page is the missing one. If the first page is missing instead, the caller waits for one read of
/// a few pages. A call costs 1 µs.
///
/// - Returns: false when the file system can't answer, so that its files are read on a lane. True
///   beyond the end of the file, and after any other error, which the read itself will report.
///   Always true on Darwin, which lacks this call.
package func isResident(descriptor: Int32, offset: Int64, count: Int) -> Bool {
    guard count > 0 else { return true }
    #if canImport(Darwin)
    return true
    #else
    return isPageResident(descriptor, offset + Int64(count) - 1) && (count <= shortRange || isPageResident(descriptor, offset))
    #endif
}

/// Reads a small range into `buffer` without waiting for the disk.
///
/// - Returns: the number of bytes. It is 0 when the first page is not in the page cache, after an
///   error, and on Darwin, which lacks this call.
package func readResident(descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, offset: Int64) -> Int {
    guard let base = buffer.baseAddress else { return 0 }
    switch attemptSystemCall({ spool_read_resident(descriptor, base, buffer.count, offset) }) {
    case .success(let count): return Int(count)
    case .failure: return 0
    }
}

#if !canImport(Darwin)
/// The maximum length of a short range, in bytes: the default read-ahead of the kernel.
private let shortRange = 128 * 1024

private func isPageResident(_ descriptor: Int32, _ offset: Int64) -> Bool {
    var byte: UInt8 = 0
    switch attemptSystemCall({ spool_read_resident(descriptor, &byte, 1, offset) }) {
    case .success: return true
    case .failure(let code): return code != EAGAIN && code != EOPNOTSUPP
    }
}
#endif

/// Brings a range into the page cache, and returns when it is there. Called on a lane, with at most
/// 1 MiB at a time.
///
/// The call ignores errors; the following read reports them.
package func readAhead(descriptor: Int32, offset: Int64, count: Int) {
    guard count > 0 else { return }
    _ = attemptSystemCall { spool_advise_will_need(descriptor, offset, Int64(count)) }
    // The advice only starts the read. Reading one byte of every 64 KiB and the last byte waits for
    // its end without copying the rest.
    let end = offset + Int64(count)
    for position in stride(from: offset, to: end, by: 65_536) { touchByte(descriptor, position) }
    touchByte(descriptor, end - 1)
}

private func touchByte(_ descriptor: Int32, _ offset: Int64) {
    var byte: UInt8 = 0
    _ = attemptSystemCall { pread(descriptor, &byte, 1, off_t(offset)) }
}
