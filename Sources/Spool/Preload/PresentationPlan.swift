import SpoolCore
import SpoolManifests

/// Decides which resources of an HLS or DASH presentation a preload reads, and in which order. A
/// value without I/O.
///
/// The playlists of the chosen renditions come first. Then come all parts of these renditions in
/// the order of their times: picture and sound of one moment together.
struct PresentationPlan {
    /// A resource to read.
    struct Item {
        var url: String
        var goal: ResourcePreload.Goal
        /// The manifest that names the resource, or nil for the manifest itself.
        var namedBy: String?
    }

    /// A resource to read now.
    struct Step {
        var number: Int
        var item: Item
    }

    /// The number of the manifest itself.
    static let rootNumber = 0
    /// The parts that are fetched at the same time. The other slots of a host are for players.
    private static let partsAtOnce = 4
    /// The most parts of all renditions together, as `PresentationInspection` counts them.
    private static let maxParts = PresentationInspection.maxParts
    /// The most seconds that count: a day.
    private static let mostSeconds = 86_400.0

    private let url: String
    /// The URL of the manifest that was read last.
    private var manifest = ""
    private let amount: PreloadAmount
    private let selection: PresentationSelection
    private let choose: (@Sendable ([PresentationStatus.Track]) -> Int?)?
    /// The variables that playlists import (HLS).
    private(set) var variables: [String: String] = [:]
    /// The parts that are known, with their times, until all playlists have come.
    private var found: [(item: Item, time: Double, range: ByteRange?)] = []
    private var openPlaylists = 0
    /// The items behind the manifest, by their number less one.
    private var items: [Item] = []
    /// The number of items that were started.
    private var started = 0
    private var finishedCount = 0
    private var areListed = false
    /// The progress of the resources that are being read, by their number.
    private var running: [Int: PreloadProgress] = [:]
    /// The bytes of the resources that are done.
    private var fetchedBytes: Int64 = 0
    private var storedBytes: Int64 = 0

    init(
        url: String, amount: PreloadAmount, selection: PresentationSelection, choose: (@Sendable ([PresentationStatus.Track]) -> Int?)?
    ) {
        self.url = url
        self.amount = amount
        self.selection = selection
        self.choose = choose
    }

    /// Takes the result of a resource.
    ///
    /// - Parameters:
    ///   - outline: The outline of a manifest that was read.
    ///   - manifest: The URL of the manifest behind redirects.
    /// - Returns: The resources to read now.
    /// - Throws: `.unsupportedURL`.
    mutating func finished(
        _ number: Int, _ result: PreloadResult, _ outline: StreamOutline?, at manifest: String? = nil
    ) throws(CacheError) -> [Step] {
        fetchedBytes = fetchedBytes.addingSaturated(result.fetchedBytes)
        storedBytes = storedBytes.addingSaturated(result.storedBytes)
        running[number] = nil
        // A player may ask for the URL at the end of the redirects.
        let asked = number == Self.rootNumber ? url : items[number - 1].url
        self.manifest = manifest ?? asked
        if let manifest, manifest != asked, amount == .whole {
            add(StreamPart(url: manifest), at: 0)
        }
        if number == Self.rootNumber {
            try take(root: outline)
        } else {
            finishedCount += 1
            if !areListed { try take(playlist: outline) }
        }
        guard found.count <= Self.maxParts else { throw CacheError(.unsupportedURL, "\(url) lists more than \(Self.maxParts) parts") }
        if openPlaylists == 0 { listParts() }
        return next()
    }

    /// Takes the progress of a resource that is being read.
    mutating func progressed(_ number: Int, _ progress: PreloadProgress) { running[number] = progress }

    // MARK: Manifests

    private mutating func take(root: StreamOutline?) throws(CacheError) {
        guard let root else { throw CacheError(.unsupportedURL, "\(url) is not an HLS or DASH stream") }
        try check(root)
        variables = root.variables
        let renditions = selection.renditions(of: root) { [choose] in choose?($0.map { PresentationStatus.Track($0) }) }
        guard !renditions.isEmpty else { throw CacheError(.unsupportedURL, "\(url) lists no variant that could be preloaded") }
        for part in root.sharedParts { add(part, at: 0) }
        for rendition in renditions {
            if let playlist = rendition.playlist {
                openPlaylists += 1
                items.append(Item(url: playlist, goal: .manifest, namedBy: manifest))
            } else {
                add(rendition)
            }
        }
    }

    private mutating func take(playlist: StreamOutline?) throws(CacheError) {
        openPlaylists -= 1
        guard let playlist, !playlist.isMultivariant else {
            throw CacheError(.unsupportedURL, "\(url) names a media playlist that is something else")
        }
        try check(playlist)
        for rendition in playlist.renditions { add(rendition) }
    }

    private func check(_ outline: StreamOutline) throws(CacheError) {
        if outline.isLive { throw CacheError(.unsupportedURL, "\(url) is a live stream, which has no end; play it") }
    }

    // MARK: Parts

    /// Returns the times between which parts of a rendition are read, or nil for all.
    private func window(of rendition: StreamRendition) -> (lower: Double, upper: Double)? {
        let amount = rendition.isOneFile ? amount.ofFile : amount
        switch amount {
        case .bytes, .whole: return nil
        case .seconds(let seconds, let start):
            let lower = Self.bounded(start)
            return (lower, lower + Self.bounded(seconds))
        case .segments(let count, let start):
            let (lower, begins) = (Self.bounded(start), rendition.times.uniqued)
            let first = begins.lastIndex { $0 <= lower } ?? 0
            let end = first + max(0, min(count, begins.count - first))
            return (lower, end < begins.count ? begins[end] : .infinity)
        }
    }

    private static func bounded(_ seconds: Double) -> Double { seconds > 0 ? min(seconds, mostSeconds) : 0 }

    private mutating func add(_ rendition: StreamRendition) {
        let parts = rendition.timedParts
        guard let window = window(of: rendition) else {
            for (part, time) in parts { add(part, at: time) }
            return
        }
        guard rendition.isOneFile else {
            for place in Self.places(rendition.times, window) { add(parts[place].part, at: parts[place].time) }
            return
        }
        for (part, time) in parts where time < window.upper {
            let amount = PreloadAmount.seconds(window.upper - max(time, window.lower), from: max(0, window.lower - time))
            found.append((Item(url: part.url, goal: .part(amount), namedBy: manifest), time, nil))
        }
    }

    /// Returns the places of the parts that a player needs in a window of time: the segment at its
    /// beginning, those that begin in it, and the keys and initialisation sections before.
    ///
    /// The last part of each time is its segment. The parts before it are needed from that time on:
    /// those of the first time, and the latest ones. A key that changes between two sections is
    /// missing here; the player then fetches the section.
    private static func places(_ times: [Double], _ window: (lower: Double, upper: Double)) -> [Int] {
        let begin = times.lastIndex { $0 <= window.lower }.flatMap { times.firstIndex(of: times[$0]) } ?? 0
        let others = (0..<begin).filter { times[$0] == times[$0 + 1] }
        let needed = others.filter { times[$0] == times[0] || times[$0] == others.last.map { times[$0] } }
        return needed + (begin..<times.count).filter { times[$0] < window.upper }
    }

    private mutating func add(_ part: StreamPart, at time: Double) {
        let goal: ResourcePreload.Goal = part.range.map { .range($0) } ?? .part(.whole)
        found.append((Item(url: part.url, goal: goal, namedBy: manifest), time, part.range))
    }

    /// Puts the parts in order, each once. Those of one moment stay in the order of the manifests.
    private mutating func listParts() {
        guard !areListed else { return }
        areListed = true
        var seen = Set<StreamPart>()
        let inOrder = found.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
        for (_, part) in inOrder where seen.insert(StreamPart(url: part.item.url, range: part.range)).inserted { items.append(part.item) }
        found = []
    }

    private mutating func next() -> [Step] {
        var steps: [Step] = []
        while started < items.count, started - finishedCount < Self.partsAtOnce, !hasEnough {
            started += 1
            steps.append(Step(number: started, item: items[started - 1]))
        }
        return steps
    }

    /// Whether the parts have as many bytes as were asked for.
    private var hasEnough: Bool {
        guard case .bytes(let count, _) = amount, areListed else { return false }
        return doneBytes >= count
    }

    // MARK: Result

    private var finishedBytes: Int64 { fetchedBytes.addingSaturated(storedBytes) }

    private var doneBytes: Int64 { running.values.lazy.map(\.doneBytes).saturatedSum.addingSaturated(finishedBytes) }

    /// Whether every resource was read.
    var isDone: Bool { areListed && finishedCount == started && (started == items.count || hasEnough) }

    /// The progress of all resources together.
    var progress: PreloadProgress {
        let done = doneBytes
        var progress = PreloadProgress(doneBytes: done, totalBytes: areListed ? totalBytes(done) : nil)
        progress.storedBytes = running.values.lazy.map(\.storedBytes).saturatedSum.addingSaturated(storedBytes)
        progress.finishedPartCount = finishedCount + 1
        progress.partCount = areListed ? items.count + 1 : nil
        return progress
    }

    /// The bytes of all resources, with those of unknown length as long as the others are on
    /// average.
    private func totalBytes(_ done: Int64) -> Int64? {
        if case .bytes(let count, _) = amount { return max(count, done) }
        // The manifest is done, and every other finished resource counts with the average.
        let known = running.values.compactMap(\.totalBytes).saturatedSum.addingSaturated(finishedBytes)
        let count = running.values.count { $0.totalBytes != nil } + finishedCount + 1
        let others = (known / Int64(count)).multipliedSaturated(by: Int64(max(0, items.count + 1 - count)))
        return max(done, min(known.addingSaturated(others), ByteRange.maximumOffset))
    }

    /// The result of the whole preload.
    func result(for key: ResourceKey) -> PreloadResult {
        PreloadResult(key: key, fetchedBytes: fetchedBytes, storedBytes: storedBytes, bytesReason: nil)
    }
}

extension [Double] {
    /// The numbers of an ordered list, each once.
    fileprivate var uniqued: [Double] { reduce(into: []) { if $0.last != $1 { $0.append($1) } } }
}
