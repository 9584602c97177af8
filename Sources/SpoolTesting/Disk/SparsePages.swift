import SpoolSystem

/// The bytes of one file, as reads see them and as the disk has them durably.
///
/// They are a map of 4 KiB pages. A page that was never written takes no room and reads as zeros,
/// so a file of 20 GiB with few bytes costs little.
struct SparsePages {
    static let pageBytes = 4096
    /// The bytes that a disk writes at once or not at all.
    static let sectorBytes = 512

    typealias Page = [UInt8]

    private(set) var size: Int64 = 0
    private var pages: [Int64: Page] = [:]

    /// The durable content of each page that changed since the last sync, or nil for a hole.
    private var durable: [Int64: Page?] = [:]
    private var durableSize: Int64 = 0
    /// The pages that a failed sync left behind. See ``failSynchronize()``.
    private var forgotten: Set<Int64> = []

    var allocatedPages: Int { pages.count }

    // MARK: Reading and writing

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        guard offset < size else { return 0 }
        let count = Int(min(Int64(buffer.count), size - offset))
        for part in Self.parts(of: offset, count: Int64(count)) {
            let target = UnsafeMutableRawBufferPointer(rebasing: buffer[part.position..<part.position + part.count])
            if let page = pages[part.page] {
                page.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[part.start..<part.end])) }
            } else {
                target.initializeMemory(as: UInt8.self, repeating: 0)
            }
        }
        return count
    }

    /// Returns the number of pages that a write would take from the disk.
    func newPages(writing count: Int, at offset: Int64) -> Int {
        Self.parts(of: offset, count: Int64(count)).count { pages[$0.page] == nil }
    }

    mutating func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
        for part in Self.parts(of: offset, count: Int64(bytes.count)) {
            let source = UnsafeRawBufferPointer(rebasing: bytes[part.position..<part.position + part.count])
            change(part.page) { page in
                page.withUnsafeMutableBytes { UnsafeMutableRawBufferPointer(rebasing: $0[part.start..<part.end]).copyMemory(from: source) }
            }
        }
        if !bytes.isEmpty { size = max(size, offset + Int64(bytes.count)) }
    }

    mutating func truncate(to newSize: Int64) {
        if newSize < size {
            let firstGone = (newSize + Int64(Self.pageBytes) - 1) / Int64(Self.pageBytes)
            dropPages(firstGone..<Int64.max)
            zero(newSize..<firstGone * Int64(Self.pageBytes))
        }
        size = newSize
    }

    /// Frees the whole pages inside the range and zeroes the rest of it, as Linux does.
    mutating func punch(at offset: Int64, count: Int64) {
        let pageBytes = Int64(Self.pageBytes)
        let end = offset + count
        let first = (offset + pageBytes - 1) / pageBytes
        let last = end / pageBytes
        guard first < last else { return zero(offset..<end) }
        dropPages(first..<last)
        zero(offset..<first * pageBytes)
        zero(last * pageBytes..<end)
    }

    /// Changes a byte without a write, on the disk as well.
    mutating func damage(at offset: Int64, by mask: UInt8) {
        let (page, start) = (offset / Int64(Self.pageBytes), Int(offset % Int64(Self.pageBytes)))
        pages[page, default: Self.zeroPage][start] ^= mask
        if var kept = durable[page] ?? nil {
            kept[start] ^= mask
            durable[page] = .some(kept)
        }
    }

    // MARK: Durability

    mutating func synchronize() {
        durable = durable.filter { forgotten.contains($0.key) }
        durableSize = size
    }

    /// Simulates a failed sync.
    ///
    /// 1. The kernel could not write some pages and reports an error.
    /// 2. It then regards these pages as clean.
    /// 3. The next sync has nothing to write and succeeds, but the pages are not on the disk.
    ///
    /// So after a failed sync, only bytes that are written again can become durable.
    mutating func failSynchronize() {
        forgotten.formUnion(durable.keys)
    }

    /// Returns the bytes after a power loss. Each page that was not synced has its new or its old
    /// content, or the first sectors of the new and the others of the old. A page that the disk did
    /// not have may also be there with zeros. The size is the new or the old one.
    func afterPowerLoss(_ random: SeededRandom) -> SparsePages {
        var survivor = SparsePages()
        survivor.pages = pages
        for page in durable.keys.sorted() {
            survivor.pages[page] = Self.torn(old: durable[page] ?? nil, new: pages[page], random)
        }
        survivor.size = max(size, durableSize)
        if random.chance(1, in: 2) { survivor.truncate(to: size) } else { survivor.truncate(to: durableSize) }
        survivor.durable = [:]
        survivor.durableSize = survivor.size
        return survivor
    }

    /// Returns a page after a power loss. A page with durable bytes never becomes zeros, because
    /// disks tear between sectors and do not erase.
    private static func torn(old: Page?, new: Page?, _ random: SeededRandom) -> Page? {
        switch random.next(below: 4) {
        case 0: return new
        case 1: return old
        case 2 where old == nil && new != nil: return zeroPage
        default:
            guard old != nil || new != nil else { return nil }
            let split = sectorBytes * Int(1 + random.next(below: UInt64(pageBytes / sectorBytes - 1)))
            return Array((new ?? zeroPage)[..<split] + (old ?? zeroPage)[split...])
        }
    }

    // MARK: Pages

    private static let zeroPage = Page(repeating: 0, count: pageBytes)

    private mutating func remember(_ page: Int64) {
        if durable[page] == nil { durable[page] = .some(pages[page]) }
        forgotten.remove(page)
    }

    private mutating func change(_ page: Int64, _ body: (inout Page) -> Void) {
        remember(page)
        body(&pages[page, default: Self.zeroPage])
    }

    /// Frees the pages of a range. It visits either the range or all existing pages, whichever are
    /// fewer.
    private mutating func dropPages(_ range: Range<Int64>) {
        if range.upperBound - range.lowerBound < Int64(pages.count) {
            for page in range where pages[page] != nil { drop(page) }
        } else {
            for page in pages.keys.filter(range.contains) { drop(page) }
        }
    }

    private mutating func drop(_ page: Int64) {
        remember(page)
        pages[page] = nil
    }

    /// Zeroes the existing bytes of a range that covers no whole page.
    private mutating func zero(_ range: Range<Int64>) {
        for part in Self.parts(of: range.lowerBound, count: range.upperBound - range.lowerBound) where pages[part.page] != nil {
            change(part.page) { page in
                for index in part.start..<part.end { page[index] = 0 }
            }
        }
    }

    /// The part of a range that lies in one page.
    private struct Part {
        let page: Int64
        let start: Int
        let end: Int
        /// The position of the part in the buffer of the caller.
        let position: Int
        var count: Int { end - start }
    }

    private static func parts(of offset: Int64, count: Int64) -> some Sequence<Part> {
        let end = offset + count
        return sequence(state: offset) { (position: inout Int64) -> Part? in
            guard position < end else { return nil }
            let page = position / Int64(pageBytes)
            let pageStart = page * Int64(pageBytes)
            let partEnd = min(end, pageStart + Int64(pageBytes))
            defer { position = partEnd }
            return Part(page: page, start: Int(position - pageStart), end: Int(partEnd - pageStart), position: Int(position - offset))
        }
    }
}
