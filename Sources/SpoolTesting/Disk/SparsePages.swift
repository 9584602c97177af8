import SpoolSystem

/// The bytes of one file: what a read sees, and what of it the disk has for certain.
///
/// A map of 4 KiB pages; a page that was never written takes no room and reads as zeros, so a file of 20 GiB with little in it costs little.
struct SparsePages {
    static let pageBytes = 4096
    /// A disk writes this much at once or not at all.
    static let sectorBytes = 512

    typealias Page = [UInt8]

    private(set) var size: Int64 = 0
    private var pages: [Int64: Page] = [:]

    /// For each page that changed since the last sync: what the disk has of it; nil for a hole.
    private var durable: [Int64: Page?] = [:]
    private var durableSize: Int64 = 0
    /// Pages that a failed sync left behind. See ``failSynchronize()``.
    private var forgotten: Set<Int64> = []

    var allocatedPages: Int { pages.count }

    /// True when a power loss would change nothing.
    var isDurable: Bool { durable.isEmpty && size == durableSize }

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

    /// The number of pages that a write would take from the disk.
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

    /// Turns a byte into another one behind everybody's back, on the disk as well.
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

    /// What a sync does that fails.
    ///
    /// 1. The kernel could not write some pages and says so. 2. It then regards them as clean.
    /// 3. The next sync has nothing to write and succeeds; the pages are not on the disk all the same.
    /// So after a failed sync only what is written again can become durable.
    mutating func failSynchronize() {
        forgotten.formUnion(durable.keys)
    }

    /// What is left when the power goes: of each page that was not synced the new or the old contents, or their first sectors new and the
    /// others old; a page that the disk did not have may also be there with zeros. The size is the new or the old one.
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

    /// A page that held durable bytes never comes back as zeros: disks tear between sectors, they do not erase.
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

    /// Frees the pages of a range: by asking for each, or by looking through all there are, whichever is less.
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

    /// Zeroes what there is of a range that does not reach over a whole page.
    private mutating func zero(_ range: Range<Int64>) {
        for part in Self.parts(of: range.lowerBound, count: range.upperBound - range.lowerBound) where pages[part.page] != nil {
            change(part.page) { page in
                for index in part.start..<part.end { page[index] = 0 }
            }
        }
    }

    /// The piece of a range that lies in one page.
    private struct Part {
        let page: Int64
        let start: Int
        let end: Int
        /// Where the piece is in the caller's buffer.
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
