import SpoolCore

/// The header of a track's fragment (`tfhd`, ISO/IEC 14496-12 §8.8.7).
struct FragmentHeader {
    let track: Int
    /// The offset from which the runs count, if the header states one.
    let base: Int64?
    /// Whether the runs count from the beginning of the `moof` box.
    let countsFromFragment: Bool
    /// The duration of a sample without one, or nil.
    let duration: UInt64?
    /// The size of a sample without one, or nil.
    let size: UInt64?

    init(_ content: ArraySlice<UInt8>) throws(MediaReadFailure) {
        var box = BigEndian(content)
        let flags = try box.number(4)
        track = try box.int(4)
        base = flags & 0x1 != 0 ? Int64(clamping: try box.number(8)) : nil
        if flags & 0x2 != 0 { try box.skip(4) }
        duration = flags & 0x8 != 0 ? try box.number(4) : nil
        size = flags & 0x10 != 0 ? try box.number(4) : nil
        countsFromFragment = flags & 0x2_0000 != 0
    }
}

/// The samples of a run, which lie one after the other (`trun`, ISO/IEC 14496-12 §8.8.8).
struct FragmentRun {
    /// The most ticks of a run. Sums with the time of a track fit.
    private static let maximumTicks: UInt64 = 1 << 61

    /// The duration and the size of a sample without one of its own. Both have 32 bits.
    struct Standard {
        var duration: UInt64
        var size: UInt64
    }

    /// The distance of the first sample from the base, or nil if the run follows the one before.
    let distance: Int64?
    /// The durations of all samples together.
    private(set) var ticks: UInt64 = 0
    /// The sizes of all samples together, or nil if a sample has none.
    private(set) var bytes: Int64? = 0
    /// The sizes of the samples that begin before the time in question.
    private(set) var neededBytes: Int64 = 0

    /// Reads a run.
    ///
    /// - Parameters:
    ///   - standard: Duration and size of a sample without one.
    ///   - needed: The time, in ticks from the beginning of the run, before which samples are
    ///     needed.
    init(_ content: ArraySlice<UInt8>, _ standard: Standard, needed: UInt64) throws(MediaReadFailure) {
        var run = BigEndian(content)
        let flags = try run.number(4)
        let count = try run.number(4)
        distance = flags & 0x1 != 0 ? Int64(Int32(truncatingIfNeeded: try run.number(4))) : nil
        if flags & 0x4 != 0 { try run.skip(4) }
        let fields = [0x100, 0x200, 0x400, 0x800].filter { flags & $0 != 0 }.count * 4
        guard fields > 0 else {
            add(count, standard, needed: needed)
            return
        }
        // The box, which is in memory, bounds the rounds.
        for _ in 0..<min(count, UInt64(run.count / fields)) {
            let duration = flags & 0x100 != 0 ? try run.number(4) : standard.duration
            let size = flags & 0x200 != 0 ? try run.number(4) : standard.size
            if flags & 0x400 != 0 { try run.skip(4) }
            if flags & 0x800 != 0 { try run.skip(4) }
            // A box in memory has fewer than 2^28 samples of less than 2^32 bytes and ticks.
            bytes = size > 0 ? bytes.map { $0 + Int64(size) } : nil
            if ticks < needed { neededBytes = bytes ?? neededBytes }
            ticks += duration
        }
    }

    /// Adds `count` samples, fewer than 2^32, that are all alike.
    private mutating func add(_ count: UInt64, _ standard: Standard, needed: UInt64) {
        ticks = min(count * standard.duration, Self.maximumTicks)
        func total(_ count: UInt64) -> Int64 { min(Int64(clamping: count * standard.size), ByteRange.maximumOffset) }
        bytes = standard.size > 0 || count == 0 ? total(count) : nil
        guard needed > 0 else { return }
        neededBytes = total(standard.duration > 0 ? min(count, (needed - 1) / standard.duration + 1) : count)
    }
}
