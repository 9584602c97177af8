import CSpoolSystem
package import SpoolCore

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// Which parts of files are in the page cache, so far as that was asked a moment ago: a call of the kernel less for most ranges of a file
/// that is played.
///
/// A region is asked for as a whole, which costs 2 µs, and is known for a second. What is thrown out of memory within that second, or belongs to
/// a file that came to the same descriptor, costs its reader and those behind it one wait for the disk, never a wrong byte.
/// Where the kernel can't tell, every range is asked for by itself. Belongs to one thread.
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

    /// In bytes.
    static let regionBytes: Int64 = 2 << 20
    /// Regions that are remembered: of 1 GiB. One takes the place of another.
    static let capacity = 512
    /// How long an answer holds.
    static let lifetime: Nanoseconds = .seconds(1)
    private static let pageBytes = Int64(sysconf(Int32(_SC_PAGESIZE)))

    /// - Parameters:
    ///   - now: the monotonic clock.
    ///   - residentPages: how many pages of a range are in memory; nil where that can't be had. The system's unless told otherwise.
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

    /// Whether sending the range will (almost certainly) not wait for the disk; as the function `isResident`, but for up to a second later.
    package func isResident(descriptor: Int32, offset: Int64, count: Int) -> Bool {
        guard count > 0, offset >= 0 else { return true }
        let first = offset / Self.regionBytes, last = (offset + Int64(count) - 1) / Self.regionBytes
        // A turn's bytes touch two regions at most.
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
        let isResident = pages.map { $0 * Self.pageBytes >= Self.regionBytes } ?? false
        entries[index] = Entry(descriptor: descriptor, region: region, isResident: isResident, until: now + Self.lifetime)
        return isResident
    }
}
