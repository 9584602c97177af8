import SpoolCore

/// Reads MP4, M4A, M4B and QuickTime files (ISO/IEC 14496-12).
///
/// The reader walks the boxes at the top of the file to `moov`, which may be at its head or its
/// tail. The tables of samples in it then give the bytes of the seconds. In a fragmented file these
/// tables are empty or end soon: a segment index (`sidx`) or the fragments themselves (`moof`) give
/// the bytes.
struct MovieReader: ContainerReader {
    /// The boxes with which a file of this kind begins.
    static let firstBoxes: Set<FourCharacterCode> = [
        "ftyp", "moov", "mdat", "free", "skip", "wide", "styp", "sidx", "moof", "pdin", "uuid",
    ]
    /// The most boxes at the top of a file without fragments.
    private static let maximumTopBoxes = 1024
    /// The largest content of a box outside `moov` that belongs to the plan. Players skip larger
    /// ones.
    private static let maximumSideBytes: Int64 = 64 << 10
    /// The box at the end of a fragmented file that gives the size of its random access index.
    /// Players look for it when a segment index does not reach the end.
    private static let tailBytes: Int64 = 16

    private let limits: MediaLimits
    /// The headers of the top boxes that were visited, and the content of the small ones.
    private var visited = ByteRangeSet()
    private var offset: Int64 = 0
    private var boxes = 0
    /// The chunks of samples that were visited in the index.
    private var chunks = 0
    private var movie: Movie?
    /// The samples of the seconds that are in the index.
    private var samples: Samples?
    private var walk: FragmentWalk?
    /// The last segment of an index, once it is being read.
    private var cut: CutSegment?

    /// The segment of an index in which the seconds end.
    private struct CutSegment {
        /// The plan without the segment.
        let plan: MediaPlan
        let segment: ByteRange
        /// The seconds from the segment's beginning.
        let seconds: MediaTime
        /// How far the fragments in the segment were visited.
        var walk: FragmentWalk
    }

    init(limits: MediaLimits) { self.limits = limits }

    mutating func plan(_ wanted: MediaTime, _ bytes: inout KnownBytes) throws(MediaReadFailure) -> MediaPlan {
        let end = wanted + .margin
        while movie == nil { try visitTopBox(bytes) }
        if samples == nil { samples = try movie?.samples(until: end, limits, chunks: &chunks) }
        guard let movie, let samples else { throw .malformed("the file has no moov box") }
        if movie.isFragmented, samples.reachesEnd { return try planFragments(until: end, of: movie, &bytes) }
        try visitRest(bytes)
        return MediaPlan(container: .mp4, ranges: visited.union(samples.ranges), reachesEnd: samples.reachesEnd)
    }

    // MARK: The top of the file

    /// Visits the box at `offset`, on the way to `moov`.
    private mutating func visitTopBox(_ bytes: KnownBytes) throws(MediaReadFailure) {
        guard boxes < Self.maximumTopBoxes else { throw .malformed("more than \(boxes) boxes before the moov box") }
        let box = try nextBox(bytes, at: offset)
        if box.type == "moov" { movie = try Movie(try content(of: box, bytes)) }
        let header = ByteRange(lower: offset, upper: offset + Int64(box.headerBytes))
        visited.insert(box.type == "moov" || (box.range.count <= Self.maximumSideBytes && !box.isMedia) ? box.range : header)
        offset = box.range.upperBound
    }

    /// Visits the boxes behind `moov`, as players do in a file in which they can seek. In a file of
    /// unknown length they read on with the media.
    private mutating func visitRest(_ bytes: KnownBytes) throws(MediaReadFailure) {
        let most = bytes.length == nil ? boxes + 1 : Self.maximumTopBoxes
        while !bytes.isEnd(offset + 7), boxes < most {
            do throws(MediaReadFailure) {
                try visitTopBox(bytes)
            } catch {
                if case .missing = error { throw error }
                // The samples do not depend on the rest.
                return
            }
        }
    }

    // MARK: Fragments

    private mutating func planFragments(
        until end: MediaTime, of movie: Movie, _ bytes: inout KnownBytes
    ) throws(MediaReadFailure) -> MediaPlan {
        if let cut { return try plan(cut, of: movie, &bytes) }
        var walk = walk ?? FragmentWalk(from: offset, head: ByteRange(lower: 0, upper: offset))
        // A walk that lacks bytes keeps how far it came.
        defer { self.walk = walk }
        while !bytes.isEnd(walk.offset) {
            // Media that is needed as a whole is read on the way to the next fragment.
            bytes.readsInOrder = !walk.isCut
            let box = try nextBox(bytes, at: walk.offset)
            if box.type == "sidx", let plan = try indexedPlan(box, until: end, of: movie, &bytes) { return plan }
            if try visit(box, &walk, until: end, of: movie, bytes) {
                return MediaPlan(container: .mp4, ranges: walk.ranges, reachesEnd: false)
            }
            bytes.forget(before: walk.offset)
        }
        return MediaPlan(container: .mp4, ranges: walk.ranges, reachesEnd: true)
    }

    private func visit(
        _ box: Box, _ walk: inout FragmentWalk, until end: MediaTime, of movie: Movie, _ bytes: KnownBytes
    ) throws(MediaReadFailure) -> Bool {
        try walk.visit(box, until: end, of: movie) { box throws(MediaReadFailure) in try content(of: box, bytes) }
    }

    /// The plan by a segment index, or nil if the index ends earlier than the seconds. An index of
    /// one fragment stands before each fragment of some files.
    private mutating func indexedPlan(
        _ box: Box, until end: MediaTime, of movie: Movie, _ bytes: inout KnownBytes
    ) throws(MediaReadFailure) -> MediaPlan? {
        let index = try SegmentIndex(try content(of: box, bytes), endingAt: box.range.upperBound)
        let selection = index.selection(until: end)
        guard !selection.reachesEnd || bytes.length == index.end else { return nil }
        var ranges = ByteRangeSet([ByteRange(lower: 0, upper: index.firstOffset)])
        if let before = selection.before { ranges.insert(before) }
        if let length = bytes.length, index.end != length, let tail = ByteRange(max(0, length - Self.tailBytes), length) {
            ranges.insert(tail)
        }
        var plan = MediaPlan(container: .mp4, ranges: ranges, reachesEnd: selection.reachesEnd && !selection.isCut)
        guard let last = selection.last else { return plan }
        guard selection.isCut, !movie.hasSamples else {
            plan.ranges.insert(last)
            return plan
        }
        let rest = MediaTime(nanoseconds: end.nanoseconds - selection.begin.nanoseconds)
        let cut = CutSegment(plan: plan, segment: last, seconds: rest, walk: FragmentWalk(from: last.lowerBound))
        return try self.plan(cut, of: movie, &bytes)
    }

    /// The plan with the bytes that the seconds need of the last segment. A segment whose fragments
    /// cannot be read is needed as a whole.
    private mutating func plan(_ cut: CutSegment, of movie: Movie, _ bytes: inout KnownBytes) throws(MediaReadFailure) -> MediaPlan {
        var (cut, plan) = (cut, cut.plan)
        // A walk that lacks bytes keeps how far it came.
        defer { self.cut = cut }
        bytes.readsInOrder = false
        do throws(MediaReadFailure) {
            while cut.walk.offset < cut.segment.upperBound {
                if try visit(try nextBox(bytes, at: cut.walk.offset), &cut.walk, until: cut.seconds, of: movie, bytes) {
                    plan.ranges.formUnion(cut.walk.ranges.intersection(cut.segment))
                    return plan
                }
                bytes.forget(before: cut.walk.offset)
            }
        } catch {
            if case .missing = error { throw error }
        }
        plan.ranges.insert(cut.segment)
        return plan
    }

    // MARK: Boxes

    private mutating func nextBox(_ bytes: KnownBytes, at offset: Int64) throws(MediaReadFailure) -> Box {
        let box = try Box(bytes, at: offset)
        boxes += 1
        guard boxes <= limits.elements else { throw .malformed("more than \(limits.elements) boxes") }
        return box
    }

    private func content(of box: Box, _ bytes: KnownBytes) throws(MediaReadFailure) -> ArraySlice<UInt8> {
        guard box.range.count <= limits.indexBytes else { throw .malformed("a box '\(box.type)' of \(box.range.count) bytes") }
        return try bytes.read(Int(box.range.count), at: box.range.lowerBound).dropFirst(box.headerBytes)
    }
}
