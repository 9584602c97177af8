import CSpoolSystem
package import SpoolCore
import SpoolLibc

/// A short-lived cache of the file regions that are in the page cache. It saves a system call for
/// most ranges of a file that is played.
///
/// One query covers a whole region, costs 2 µs, and stays valid for a second. Within that second,
/// pages of a region may leave memory, or its descriptor may get another file. Its readers, and
/// those that the loop serves next, then wait for the disk once; they never get a wrong byte. When
/// the kernel can't answer for a region, each range is queried by itself. Belongs to one thread.
package final class ResidentRegions: @unchecked Sendable {
    // Safe to share: used on a server's loop only.
    private var entries = [Entry](repeating: Entry(), count: ResidentRegions.capacity)
    private let now: () -> MonotonicInstant
    private let residentPages: (_ descriptor: Int32, _ offset: Int64, _ count: Int64) -> Int64?

    private struct Entry {
        var descriptor: Int32 = -1
        var region: Int64 = 0
        var isResident = false
        var until = MonotonicInstant(nanoseconds: .min)
    }

    /// The size of a region, in bytes.
    static let regionBytes: Int64 = 2 << 20
    /// The number of cached regions, 1 GiB in total. A new region may replace another.
    static let capacity = 512
    /// The time for which an answer is valid.
    static let lifetime: Nanoseconds = .seconds(1)
    private static let pageBytes = Int64(sysconf(Int32(_SC_PAGESIZE)))

    /// Creates an empty cache.
    ///
    /// - Parameters:
    ///   - now: the monotonic clock.
    ///   - residentPages: returns how many pages of a range are in memory, or nil when that is not
    ///     known. By default it asks the system.
    package init(
        now: @escaping () -> MonotonicInstant = EventLoop.monotonicNow,
        residentPages: @escaping (_ descriptor: Int32, _ offset: Int64, _ count: Int64) -> Int64? = {
            let pages = spool_resident_pages($0, $1, $2)
            return pages < 0 ? nil : pages
        }
    ) {
        self.now = now
        self.residentPages = residentPages
    }

    /// Whether sending the range will (almost certainly) not wait for the disk. Like the function
    /// `isResident`, but with an answer that may be up to a second old.
    package func isResident(descriptor: Int32, offset: Int64, count: Int) -> Bool {
        guard count > 0, offset >= 0 else { return true }
        let first = offset / Self.regionBytes, last = (offset + Int64(count) - 1) / Self.regionBytes
        // The bytes of one turn touch at most two regions.
        if last - first <= 1 {
            let now = now()
            if isWhole(descriptor, first, now), first == last || isWhole(descriptor, last, now) { return true }
        }
        return SpoolSystem.isResident(descriptor: descriptor, offset: offset, count: count)
    }

    private func isWhole(_ descriptor: Int32, _ region: Int64, _ now: MonotonicInstant) -> Bool {
        let index = Int((UInt64(bitPattern: region) &+ UInt64(UInt32(bitPattern: descriptor)) &* 0x9E37) % UInt64(Self.capacity))
        let known = entries[index]
        if known.descriptor == descriptor, known.region == region, now < known.until { return known.isResident }
        let pages = residentPages(descriptor, region * Self.regionBytes, Self.regionBytes)
        let isResident = pages.map { $0 * Self.pageBytes >= Self.regionBytes } == true
        entries[index] = Entry(descriptor: descriptor, region: region, isResident: isResident, until: now + Self.lifetime)
        return isResident
    }
}
