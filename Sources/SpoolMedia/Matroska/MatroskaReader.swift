import SpoolCore

/// Reads Matroska and WebM files block by block (RFC 9559).
///
/// The elements that a `SeekHead` names, such as the cue points at the end of the file, belong to
/// the plan, because players read them when they open the file.
struct MatroskaReader: ContainerReader {
    /// The largest element outside the first seconds that belongs to the plan.
    private static let maximumSideBytes: Int64 = 1 << 20
    /// The most such elements, and the most tracks.
    private static let maximumEntries = 64

    private let limits: MediaLimits
    private var offset: Int64 = 0
    private var elements = 0
    private var segmentStart: Int64?
    /// Nanoseconds of one tick.
    private var timestampScale: UInt64 = 1_000_000
    private var clusterTimestamp: UInt64 = 0
    /// The number of the track entry that is being read.
    private var entryNumber: UInt64?
    /// The time that each track of pictures or sound has reached.
    private var reached: [UInt64: MediaTime] = [:]
    /// Places outside the first seconds, relative to the segment.
    private var sidePlaces: [Int64] = []

    init(limits: MediaLimits) { self.limits = limits }

    mutating func plan(_ wanted: MediaTime, _ bytes: inout KnownBytes) throws(MediaReadFailure) -> MediaPlan {
        bytes.readsInOrder = true
        let end = wanted + .margin
        while !bytes.isEnd(offset), !reaches(end) { try visitElement(&bytes) }
        guard segmentStart != nil else { throw .malformed("a Matroska file without a segment") }
        var ranges = ByteRangeSet([ByteRange(lower: 0, upper: max(1, min(offset, bytes.length ?? .max)))])
        bytes.readsInOrder = false
        for place in sidePlaces {
            if let side = try sideRange(at: place, bytes) { ranges.insert(side) }
        }
        return MediaPlan(container: .matroska, ranges: ranges, reachesEnd: bytes.isEnd(offset))
    }

    private func reaches(_ end: MediaTime) -> Bool {
        if time(clusterTimestamp) >= end { return true }
        return !reached.isEmpty && reached.values.allSatisfy { $0 >= end }
    }

    private func time(_ ticks: UInt64) -> MediaTime {
        let (nanoseconds, overflow) = ticks.multipliedReportingOverflow(by: timestampScale)
        return overflow || nanoseconds > UInt64(MediaTime.maximum.nanoseconds)
            ? .maximum : MediaTime(nanoseconds: Int64(nanoseconds))
    }

    private mutating func visitElement(_ bytes: inout KnownBytes) throws(MediaReadFailure) {
        let element = try MatroskaElement(bytes, at: offset)
        elements += 1
        guard elements <= limits.elements else { throw .malformed("more than \(limits.elements) elements") }
        try note(element, bytes)
        if MatroskaID.parents.contains(element.id) {
            offset = element.contentOffset
        } else if let end = element.end {
            offset = end
        } else {
            throw .malformed("an element without an end at byte \(offset)")
        }
        bytes.forget(before: offset)
    }

    private mutating func note(_ element: MatroskaElement, _ bytes: KnownBytes) throws(MediaReadFailure) {
        switch element.id {
        case MatroskaID.segment: segmentStart = element.contentOffset
        case MatroskaID.seekPosition:
            let place = try element.number(bytes)
            if place <= UInt64(ByteRange.maximumOffset), sidePlaces.count < Self.maximumEntries { sidePlaces.append(Int64(place)) }
        case MatroskaID.timestampScale: timestampScale = max(1, try element.number(bytes))
        case MatroskaID.trackEntry: entryNumber = nil
        case MatroskaID.trackNumber: entryNumber = try element.number(bytes)
        case MatroskaID.trackType:
            let kind = try element.number(bytes)
            // 1 is video, 2 is audio.
            if let entryNumber, kind == 1 || kind == 2, reached.count < Self.maximumEntries {
                reached[entryNumber] = MediaTime(nanoseconds: 0)
            }
        case MatroskaID.timestamp: clusterTimestamp = try element.number(bytes)
        case MatroskaID.simpleBlock, MatroskaID.block: try noteBlock(element, bytes)
        default: break
        }
    }

    /// Notes the time of a block: the cluster's, plus 16 bits with a sign.
    private mutating func noteBlock(_ element: MatroskaElement, _ bytes: KnownBytes) throws(MediaReadFailure) {
        let (track, size) = try MatroskaElement.variableInteger(bytes, at: element.contentOffset)
        guard reached[track] != nil else { return }
        let relative = try bytes.read(2, at: element.contentOffset + Int64(size)).reduce(UInt16(0)) { $0 << 8 | UInt16($1) }
        let difference = Int16(bitPattern: relative)
        let ticks = Int64(clamping: clusterTimestamp).addingReportingOverflow(Int64(difference)).partialValue
        reached[track] = time(UInt64(max(0, ticks)))
    }

    /// The bytes of the element at `place` of the segment; nil if it lies in the first seconds, is a
    /// cluster or is large.
    private func sideRange(at place: Int64, _ bytes: KnownBytes) throws(MediaReadFailure) -> ByteRange? {
        guard let segmentStart, segmentStart + place >= offset, !bytes.isEnd(segmentStart + place) else { return nil }
        let element: MatroskaElement
        do throws(MediaReadFailure) {
            element = try MatroskaElement(bytes, at: segmentStart + place)
        } catch {
            // A wrong place costs a seek in the player. It is tolerable.
            if case .missing = error { throw error }
            return nil
        }
        guard element.id != MatroskaID.cluster, let end = element.end, end - segmentStart - place <= Self.maximumSideBytes else {
            return nil
        }
        return ByteRange(segmentStart + place, min(end, bytes.length ?? end))
    }
}
