package import Spool
package import SpoolCore
internal import SpoolStore
internal import SpoolSystem
internal import SpoolTesting

/// A consumer in a simulated world. It reads ranges one after the other, pauses now and then, and
/// checks every byte.
package final class WorldReader: @unchecked Sendable, CustomStringConvertible {
    // Safe to share: all jobs of the simulator run on one thread.

    /// The actions of a reader.
    package struct Script: Sendable {
        /// The URL of the resource.
        package var url: String
        /// The ranges to read, in order. An upper bound of nil is the end of the resource.
        package var ranges: [(lower: Int64, upper: Int64?)]
        /// The options of the reader.
        package var options = ReadOptions()
        /// The longest pause between two chunks, in nanoseconds.
        package var pause: Nanoseconds = 0
        /// The number of bytes after which the reader leaves, or nil to read to the end.
        package var leavesAfter: Int64?
        /// Whether the reader leaves explicitly, so that the fetch of the rest closes at once.
        package var leavesExplicitly = false
        /// Whether the reader asks for the metadata before it reads, as doors do. Then the bytes
        /// have to match that metadata.
        package var asksFirst = false

        /// Creates a script that reads `ranges`.
        package init(url: String, ranges: [(lower: Int64, upper: Int64?)]) {
            self.url = url
            self.ranges = ranges
        }
    }

    /// The end of a reader.
    package enum Outcome: Sendable {
        /// The reader read all its ranges.
        case complete
        /// The reader left early.
        case left
        /// The reader failed, with this error.
        case failed(CacheError)
    }

    /// The number of the reader, counted from 1.
    package let number: Int
    /// The actions of the reader.
    package let script: Script
    /// The end, once the reader is done.
    package private(set) var outcome: Outcome?
    /// The number of bytes that it read.
    package private(set) var readBytes: Int64 = 0
    private unowned let world: World
    private let mailbox: any Mailbox
    private var session: SessionReader?
    private var rangeIndex = 0
    private var position: Int64 = 0
    /// The versions that all bytes of this answer may belong to. An answer reaches from one seek to
    /// the next.
    private var candidates: [VirtualResource]?
    /// The last answer of `prepare`, with its generation.
    private var prepared: (generation: GenerationID, representation: Representation)?
    /// The metadata that it got before its first byte.
    private var told: Representation?
    /// Whether it reads a page that came instead of media.
    private var isPage = false
    /// Whether it got bytes that are in no page.
    private var hasMedia = false
    /// Whether the answer came from a version with a strong validator, so that the next one has to
    /// be of the same version.
    private var isTied = false
    private var isPausing = false

    init(number: Int, script: Script, world: World) {
        self.number = number
        self.script = script
        self.world = world
        mailbox = world.simulator.mailbox("reader \(number)")
    }

    /// Whether the reader is done.
    package var isOver: Bool { outcome != nil }

    /// The number and the position of the reader.
    package var description: String { "reader \(number) at \(position) in range \(rangeIndex) of \(script.ranges)" }

    // MARK: Life

    func join() {
        let first = script.ranges[0]
        do {
            session = try world.cache.sessionReader(
                for: script.url, start: first.lower, end: first.upper, wantsBytes: true, options: script.options,
                wake: { [weak self] in self?.lookLater() })
        } catch {
            return end(.failed(error))
        }
        begin(0)
        lookLater()
    }

    private func lookLater() {
        mailbox.post { [weak self] in self?.look() }
    }

    private func begin(_ index: Int) {
        rangeIndex = index
        position = script.ranges[index].lower
        guard index > 0 else { return }
        // Without a strong validator, two answers may be of different versions (docs/freshness.md).
        if !isTied { candidates = nil }
        isPage = false
        session?.seek(to: position, end: script.ranges[index].upper)
    }

    private func end(_ outcome: Outcome) {
        self.outcome = outcome
        session?.leave(explicitly: script.leavesExplicitly)
        session = nil
    }

    private func look() {
        guard !isOver, !isPausing, let session else { return }
        if let limit = script.leavesAfter, readBytes >= limit { return end(.left) }
        if script.asksFirst, told == nil, !prepare(session) { return }
        switch session.next(max: Int(world.number(1...200_000))) {
        case .file(let file, let range):
            isServed(session)
            takeStored(range, file)
        case .memory(let bytes):
            isServed(session)
            bytes.withBytes { take($0, fromOrigin: true) }
        case .wait: break
        case .end:
            isServed(session)
            rangeEnded()
        case .failed(let error): end(.failed(error))
        }
    }

    /// Asks for the metadata, and then seeks to the range to read.
    ///
    /// - Returns: False if the reader has to wait or has failed.
    private func prepare(_ session: SessionReader) -> Bool {
        switch session.prepare(withFirstByte: true) {
        case .wait: return false
        case .failed(let error):
            end(.failed(error))
            return false
        case .ready(let generation, let representation):
            if prepared?.generation != generation {
                isPage = session.readsPage
                position = isPage ? 0 : script.ranges[rangeIndex].lower
                session.seek(to: position, end: isPage ? nil : script.ranges[rangeIndex].upper)
            }
            prepared = (generation, representation)
            return true
        }
    }

    /// Notes that the reader has an answer, so that later bytes have to match the metadata.
    private func isServed(_ session: SessionReader) {
        if script.asksFirst, told == nil {
            session.markTold()
            told = prepared?.representation
        }
        // A page is passed on from its beginning, for any range.
        if !script.asksFirst, readBytes == 0, candidates == nil, session.readsPage {
            isPage = true
            position = 0
        }
        isTied = session.isCombinable
    }

    // MARK: Bytes

    private func takeStored(_ range: ByteRange, _ file: any StoredBytes) {
        var bytes = [UInt8](repeating: 0, count: Int(range.count))
        do {
            // A read may be short. Only a read without any byte means that the bytes are gone.
            let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: range.lowerBound) }
            if count == 0 { return lost(range, .corrupt(ResourceKey(normalized: script.url), range)) }
            bytes[..<count].withUnsafeBytes { take($0, fromOrigin: false) }
        } catch {
            lost(range, error as? StoreError ?? .closed)
        }
    }

    private func lost(_ range: ByteRange, _ error: StoreError) {
        session?.reportLost(range, error)
        lookLater()
    }

    private func take(_ bytes: UnsafeRawBufferPointer, fromOrigin: Bool) {
        let count = Int(world.number(1...Int64(bytes.count)))
        let used = UnsafeRawBufferPointer(rebasing: bytes[..<count])
        let before = candidates ?? versions
        let after = before.filter { position + Int64(count) <= $0.length && $0.content.firstDifference(in: used, at: position) == nil }
        candidates = after
        if after.isEmpty { world.violated("\(self) got \(count) bytes that are not of \(before.map(\.entityTag))") }
        if after.allSatisfy(\.isPage), hasMedia { world.violated("\(self) got a page for bytes of the media") }
        if !after.contains(where: \.isPage) { hasMedia = true }
        position += Int64(count)
        readBytes += Int64(count)
        session?.advance(by: count, fromOrigin: fromOrigin)
        pauseOrLook()
    }

    private func pauseOrLook() {
        guard script.pause > 0, world.number(0...3) == 0 else { return lookLater() }
        isPausing = true
        _ = world.simulator.after(world.number(0...script.pause), on: mailbox) { [weak self] in
            self?.isPausing = false
            self?.look()
        }
    }

    /// The versions that an answer may be of. If its strong validator names any, these are the
    /// ones.
    private var versions: [VirtualResource] {
        let all = world.rightVersions(of: script.url)
        if isPage { return all.filter(\.isPage) }
        guard let validator = told?.validator, validator.isStrong, isTied else { return all }
        let named = all.filter { validator == $0.validator }
        return named.isEmpty ? all : named
    }

    private func rangeEnded() {
        let wanted = isPage ? .max : script.ranges[rangeIndex].upper ?? .max
        let lengths = (candidates ?? versions).map(\.length)
        if !lengths.contains(where: { position >= min(wanted, $0) }) {
            world.violated("\(self) was told that the end is here; lengths are \(lengths)")
        }
        if let length = told?.length, position < min(wanted, length) {
            world.violated("\(self) was told that the end is here, and before that the length is \(length)")
        }
        guard rangeIndex + 1 < script.ranges.count else { return end(.complete) }
        begin(rangeIndex + 1)
        lookLater()
    }
}

extension VirtualResource {
    /// Whether it is a page that a network sends in place of media.
    fileprivate var isPage: Bool { contentType == "text/html" }

    /// The strong validator of its responses, or nil if they have none. The responses of a scripted
    /// origin have the current time as `Date`.
    fileprivate var validator: Validator? {
        if let entityTag { return entityTag.hasPrefix("W/") ? nil : .strong(entityTag: entityTag) }
        return lastModified.map { .lastModified($0, isStrong: true) }
    }
}
