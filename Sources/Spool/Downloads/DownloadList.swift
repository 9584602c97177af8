package import SpoolCore
package import SpoolManifests
package import SpoolStore

/// Decides which downloads run. A value without clock, disk and network.
///
/// The shell reports events and asks for `turn(now:)` afterwards. Every method that changes what
/// the store keeps returns the keys to save.
package struct DownloadList {
    /// The kind of an end that is no success.
    package enum Failure: Hashable {
        /// The origin can't be reached, or may not be asked. Tried again without an end.
        case network(String)
        /// Tried again, up to `DownloadBackOff.maximumFailures` times in a row.
        case temporary(String)
        /// Not tried again.
        case permanent(String)
    }

    /// A transfer that the shell starts or stops.
    package enum Action: Hashable {
        case start(ResourceKey)
        case stop(ResourceKey)
    }

    private struct Entry {
        var download: Download
        /// Its place among those of its priority.
        var order: Int64
        /// Whether the number of its bytes is an estimate.
        var isEstimated = false
        /// The failures in a row without a new byte.
        var failures = 0
        /// The stored bytes at the last failure.
        var bytesAtFailure: Int64 = 0
        /// The time of the next attempt, after a failure.
        var retryTime: MonotonicInstant?
    }

    private var entries: [ResourceKey: Entry] = [:]
    /// The lowest and the highest place that an entry was given.
    private var places = (first: Int64(1), last: Int64(0))
    /// The settings of the list.
    package var settings = DownloadSettings()
    /// Whether downloads run in this process.
    package var isStarted = false

    /// Creates an empty list.
    package init() {}

    // MARK: Reading

    /// All downloads in the order in which they run.
    package var downloads: [Download] { inOrder.map(\.download) }

    /// Returns the download of a key.
    package subscript(key: ResourceKey) -> Download? { entries[key]?.download }

    /// The keys of the downloads of a group, or of all for nil.
    package func keys(group: String?) -> [ResourceKey] {
        inOrder.filter { group == nil || $0.download.group == group }.map(\.download.key)
    }

    /// The time of the next attempt after a failure, or nil.
    package var nextRetry: MonotonicInstant? {
        guard isStarted else { return nil }
        return entries.values.filter { $0.download.state.waits }.compactMap(\.retryTime).min()
    }

    private var inOrder: [Entry] {
        entries.values.sorted { ($1.download.priority, $0.order, $0.download.key) < ($0.download.priority, $1.order, $1.download.key) }
    }

    // MARK: Changing

    /// Adds a download, or gives an existing one this group, priority and selection. One that had
    /// failed is tried again, and one with another selection runs again.
    ///
    /// - Returns: False if the list is full.
    package mutating func add(
        _ key: ResourceKey, url: String, group: String, priority: Int, selection: PresentationSelection = PresentationSelection(),
        details: DownloadDetails? = nil
    ) -> Bool {
        guard entries[key] != nil || entries.count < StoredDownload.maximumCount else { return false }
        var entry = entries[key] ?? Entry(download: Download(key: key, url: url), order: place(.last))
        (entry.download.url, entry.download.group, entry.download.priority) = (url, group, priority)
        if let details { entry.download.details = details }
        if entry.download.selection != selection {
            entry.download.selection = selection
            if entry.download.state == .complete || entry.download.state == .running { entry.download.state = .queued }
        }
        entries[key] = entry
        if case .failed = entry.download.state { resume(key) }
        return true
    }

    /// Removes a download.
    package mutating func remove(_ key: ResourceKey) { entries[key] = nil }

    /// Pauses a download that is not over.
    package mutating func pause(_ key: ResourceKey) -> Bool {
        guard let state = entries[key]?.download.state, state.waits || state == .running else { return false }
        entries[key]?.download.state = .paused
        return true
    }

    /// Lets a paused or failed download run again.
    @discardableResult
    package mutating func resume(_ key: ResourceKey) -> Bool {
        guard var entry = entries[key] else { return false }
        switch entry.download.state {
        case .paused, .failed, .waitingForNetwork: break
        case .queued: guard entry.retryTime != nil else { return false }
        case .running, .complete: return false
        }
        (entry.download.state, entry.download.lastError, entry.failures, entry.retryTime) = (.queued, nil, 0, nil)
        entries[key] = entry
        return true
    }

    /// Sets the priority of a download.
    package mutating func setPriority(_ priority: Int, of key: ResourceKey) -> Bool {
        guard let entry = entries[key], entry.download.priority != priority else { return false }
        entries[key]?.download.priority = priority
        return true
    }

    /// Moves a download to an end of those of its priority.
    package mutating func move(_ key: ResourceKey, to place: DownloadPlace) -> Bool {
        guard entries[key] != nil else { return false }
        let order = self.place(place)
        entries[key]?.order = order
        return true
    }

    /// Takes a place before or after all others. Loaded places are bounded by `orderLimit`, so there is
    /// always a further one.
    private mutating func place(_ place: DownloadPlace) -> Int64 {
        switch place {
        case .first: places.first -= 1
        case .last: places.last += 1
        }
        return place == .first ? places.first : places.last
    }

    /// Lets a finished download run again, because the origin has another version.
    ///
    /// - Returns: Whether it was finished. In a process that runs no downloads, it stays finished.
    package mutating func replaced(_ key: ResourceKey) -> Bool {
        guard isStarted, entries[key]?.download.state == .complete else { return false }
        entries[key]?.download.state = .queued
        return true
    }

    // MARK: Transfers

    /// Returns what starts and stops now, and enters it.
    package mutating func turn(now: MonotonicInstant) -> [Action] {
        let due = inOrder.filter { entry in
            switch entry.download.state {
            case .running: true
            case .queued, .waitingForNetwork: entry.retryTime.map { $0 <= now } ?? true
            case .paused, .failed, .complete: false
            }
        }
        let chosen = isStarted ? due.prefix(max(1, settings.maximumRunning)).map(\.download.key) : []
        var actions: [Action] = []
        for entry in due where entry.download.state == .running && !chosen.contains(entry.download.key) {
            entries[entry.download.key]?.download.state = .queued
            actions.append(.stop(entry.download.key))
        }
        for key in chosen where entries[key]?.download.state != .running {
            entries[key]?.download.state = .running
            entries[key]?.download.meter = DownloadMeter()
            entries[key]?.retryTime = nil
            actions.append(.start(key))
        }
        return actions
    }

    /// Notes how far a transfer has come.
    ///
    /// - Parameters:
    ///   - isEstimated: Whether `total` is an estimate.
    ///   - now: The time of a look at the transfer, for its speed.
    package mutating func progressed(
        _ key: ResourceKey, done: Int64, total: Int64?, isEstimated: Bool = false, now: MonotonicInstant? = nil
    ) {
        guard entries[key]?.download.state == .running else { return }
        if let now { entries[key]?.download.meter.passed(done, now: now) }
        entries[key]?.download.doneBytes = done
        guard let total else { return }
        entries[key]?.download.totalBytes = total
        entries[key]?.isEstimated = isEstimated
    }

    /// Returns the reason why the length of a download leaves no room, or nil if there is room. The
    /// stored bytes count in the place of an unknown or estimated length.
    ///
    /// - Parameter freeBytes: The bytes that downloads may take of the disk, or nil if not known.
    package func missingRoom(for key: ResourceKey, freeBytes: Int64?) -> String? {
        guard let entry = entries[key] else { return nil }
        let download = entry.download
        let length = entry.isEstimated ? nil : download.totalBytes
        let total = length ?? download.doneBytes
        if let most = download.details.maximumBytes, total > most { return "it has \(total) bytes, and may have \(most)" }
        let others = entries.values.map(\.download).filter { $0.key != key }
        if let allowance = settings.allowanceBytes {
            let left = max(0, others.reduce(allowance) { $0.subtractingSaturated($1.promisedBytes) })
            let soFar = length == nil ? " so far" : ""
            if total > left { return "it has \(total) bytes\(soFar), and \(left) of the \(allowance) bytes for downloads are left" }
        }
        if let freeBytes {
            let left = max(0, others.filter { $0.state == .running }.reduce(freeBytes) { $0.subtractingSaturated($1.missingBytes) })
            let missing = length == nil ? 0 : download.missingBytes
            if missing > left { return "\(missing) of its bytes are missing, and the disk has room for \(left)" }
        }
        return nil
    }

    /// Ends a running download with all of its bytes.
    package mutating func completed(_ key: ResourceKey, bytes: Int64) {
        guard var entry = entries[key], entry.download.state == .running else { return }
        (entry.download.state, entry.download.doneBytes, entry.download.totalBytes) = (.complete, bytes, bytes)
        (entry.download.lastError, entry.failures, entry.isEstimated) = (nil, 0, false)
        entries[key] = entry
    }

    /// Ends an attempt of a running download.
    ///
    /// - Parameter jitter: A random number, for the pause before the next attempt.
    package mutating func ended(_ key: ResourceKey, _ failure: Failure, now: MonotonicInstant, jitter: UInt64) {
        guard var entry = entries[key], entry.download.state == .running else { return }
        let hasNewBytes = entry.download.doneBytes > entry.bytesAtFailure
        entry.failures = hasNewBytes ? 1 : entry.failures + 1
        entry.bytesAtFailure = entry.download.doneBytes
        entry.retryTime = now + DownloadBackOff.pause(afterFailures: entry.failures, jitter: jitter)
        switch failure {
        case .network(let reason): entry.download.state = .waitingForNetwork(reason: reason)
        case .temporary(let reason) where entry.failures < DownloadBackOff.maximumFailures:
            (entry.download.state, entry.download.lastError) = (.queued, reason)
        case .temporary(let reason), .permanent(let reason): entry.download.state = .failed(reason: reason)
        }
        entries[key] = entry
    }
}

extension DownloadList {
    private enum Member {
        static let url = "url", group = "group", priority = "priority", order = "order", state = "state", reason = "reason"
        static let bytes = "bytes", quality = "quality", audio = "audio", subtitles = "subtitles"
    }

    /// Returns the entry of the store for a download, or nil if there is none.
    ///
    /// A download that runs, or waits for the network, is queued in the store: after a restart it
    /// is tried at once.
    package func stored(_ key: ResourceKey) -> StoredDownload? {
        guard let entry = entries[key] else { return nil }
        let download = entry.download
        var members = [
            Member.url: download.url, Member.order: "\(entry.order)", Member.priority: "\(download.priority)",
            Member.state: download.state.name(isKept: true),
        ]
        if !download.group.isEmpty { members[Member.group] = download.group }
        if case .failed(let reason) = download.state {
            // The text may come from an origin. A line break in it, or too long a text, would make
            // the entry another one, or none.
            let line = reason.split(whereSeparator: \.isNewline).joined(separator: " ")
            members[Member.reason] = String(String.UnicodeScalarView(line.unicodeScalars.prefix(Self.reasonLimit)))
        }
        if let total = download.totalBytes, !entry.isEstimated { members[Member.bytes] = "\(total)" }
        let (selection, usual) = (download.selection, PresentationSelection())
        if selection.quality != usual.quality { members[Member.quality] = selection.quality.word }
        if selection.audio != usual.audio { members[Member.audio] = selection.audio.word }
        if selection.subtitles != usual.subtitles { members[Member.subtitles] = selection.subtitles.word }
        return StoredDownload(key: key, members: members.merging(download.details.members) { own, _ in own })
    }

    /// Enters a download that the store has.
    ///
    /// - Parameters:
    ///   - storedBytes: The number of stored bytes of its resource and its parts.
    ///   - isWhole: Whether all bytes of its own resource are stored. A finished download that lost
    ///     bytes is queued again.
    package mutating func load(_ stored: StoredDownload, storedBytes: Int64, isWhole: Bool) {
        guard let url = stored.members[Member.url] else { return }
        var download = Download(key: stored.key, url: url)
        download.group = stored.members[Member.group] ?? ""
        download.priority = stored.members[Member.priority].flatMap { Int($0) } ?? 0
        download.selection = PresentationSelection(
            quality: stored.members[Member.quality], audio: stored.members[Member.audio], subtitles: stored.members[Member.subtitles])
        download.details = DownloadDetails(members: stored.members)
        download.doneBytes = storedBytes
        download.totalBytes = stored.members[Member.bytes].flatMap { Int64($0) }.map { max(0, $0) }
        let isComplete = isWhole && storedBytes >= download.totalBytes ?? 0
        switch stored.members[Member.state] {
        case Download.State.paused.name: download.state = .paused
        case Download.State.complete.name where isComplete: download.state = .complete
        case Download.State.failed(reason: "").name: download.state = .failed(reason: stored.members[Member.reason] ?? "")
        default: download.state = .queued
        }
        // A damaged number must not leave the next one without room.
        let stated = stored.members[Member.order].flatMap { Int64($0) } ?? 0
        let order = max(-Self.orderLimit, min(Self.orderLimit, stated))
        places = (min(places.first, order), max(places.last, order))
        entries[stored.key] = Entry(download: download, order: order)
    }

    private static let orderLimit: Int64 = 1 << 60
    /// The most scalars of a reason that the store keeps.
    private static let reasonLimit = 500
}

extension Download {
    /// The bytes that the download has, or may still get.
    fileprivate var promisedBytes: Int64 {
        switch state {
        case .running, .complete: max(doneBytes, totalBytes ?? 0)
        case .queued, .paused, .waitingForNetwork, .failed: doneBytes
        }
    }

    var missingBytes: Int64 { max(0, (totalBytes ?? 0).subtractingSaturated(doneBytes)) }
}

extension Download.State {
    /// Whether the download waits for its turn.
    fileprivate var waits: Bool {
        switch self {
        case .queued, .waitingForNetwork: true
        case .running, .paused, .failed, .complete: false
        }
    }

    /// The name of the state in the store and in JSON.
    package var name: String { name(isKept: false) }

    fileprivate func name(isKept: Bool) -> String {
        switch self {
        case .running where isKept, .waitingForNetwork where isKept, .queued: "queued"
        case .running: "running"
        case .paused: "paused"
        case .waitingForNetwork: "waiting"
        case .failed: "failed"
        case .complete: "complete"
        }
    }

    /// The reason for the state, or nil.
    package var reason: String? {
        switch self {
        case .failed(let reason), .waitingForNetwork(let reason): reason
        case .queued, .running, .paused, .complete: nil
        }
    }
}
