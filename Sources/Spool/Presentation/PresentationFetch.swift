import SpoolCore
import SpoolManifests
import SpoolOrigin

/// Brings all parts of the selected renditions into the store: manifests, segments, keys and
/// initialisation sections.
struct PresentationFetch: Sendable {
    let cache: MediaCache
    let url: String
    let selection: PresentationSelection

    typealias Progress = PresentationDownload.Progress

    /// The parts that are fetched at the same time. Two slots of each host are left for playback.
    private static let partsAtOnce = 4
    /// The answers of an origin after which the manifests are asked for again.
    private static let expired = [401, 403, 404, 410]

    /// Downloads the presentation.
    ///
    /// - Parameter report: Called after each part.
    func run(_ report: (Progress) -> Void) async throws {
        do { try await download(.automatic, report) } catch let error as CacheError {
            guard let status = error.status, Self.expired.contains(status) else { throw error }
            try await download(.reload, report)
        }
    }

    private func download(_ mode: ReadMode, _ report: (Progress) -> Void) async throws {
        guard let root = try await manifest(url, mode, variables: [:]) else {
            throw CacheError(.unsupportedURL, "\(url) is no HLS or DASH stream")
        }
        let renditions = selection.renditions(of: root.outline)
        guard !renditions.isEmpty else { throw CacheError(.unsupportedURL, "\(url) lists no variant that could be downloaded") }
        try check(root.outline.sharedParts.map(\.url), in: root)
        var parts = PartList(root.own + root.outline.sharedParts)
        for rendition in renditions {
            parts.add(try await self.parts(of: rendition, mode, in: root))
            guard parts.list.count <= PresentationInspection.maxParts else {
                throw CacheError(.unsupportedURL, "\(url) lists more than \(PresentationInspection.maxParts) parts")
            }
        }
        let isPinned = try await cache.status(of: url)?.isPinned ?? false
        try await fetch(parts.list, isPinning: isPinned, report)
        try await confirm(parts.list)
    }

    // MARK: Manifests

    private struct Manifest {
        var outline: StreamOutline
        /// The URL at the end of the redirects, where players look.
        var url: String
        /// The manifest itself, by both URLs.
        var own: [StreamPart]
    }

    private func manifest(_ url: String, _ mode: ReadMode, variables: [String: String]) async throws -> Manifest? {
        var options = ReadOptions(mode: mode)
        options.priority = .prefetch
        let reader = try cache.reader(for: url, options: options)
        defer { reader.cancel() }
        return try await naming(url) {
            let limit = ManifestLimits().maxBytes
            var bytes: [UInt8] = []
            for try await chunk in reader.chunks() {
                guard bytes.count + chunk.count <= limit else { return nil }
                bytes += chunk
            }
            let final = try await reader.contentInformation().finalURL ?? url
            do {
                guard let outline = try StreamOutline.read(bytes, at: final, variables: variables) else { return nil }
                if outline.isLive { throw CacheError(.unsupportedURL, "\(self.url) is a live stream, which has no end; play it") }
                return Manifest(outline: outline, url: final, own: [url, final].map { StreamPart(url: $0) })
            } catch let error as ParseError {
                throw CacheError(.unsupportedURL, "\(url) is a broken manifest: \(error)", cause: error)
            }
        }
    }

    private func parts(of rendition: StreamRendition, _ mode: ReadMode, in root: Manifest) async throws -> [StreamPart] {
        try check(rendition.playlist.map { [$0] } ?? rendition.parts.map(\.url), in: root)
        guard let playlist = rendition.playlist else { return rendition.parts }
        guard let manifest = try await manifest(playlist, mode, variables: root.outline.variables), !manifest.outline.isMultivariant else {
            throw CacheError(.unsupportedURL, "\(playlist) is no media playlist")
        }
        let parts = manifest.outline.renditions.flatMap(\.parts)
        try check(parts.map(\.url), in: manifest)
        return manifest.own + parts
    }

    /// Checks that the manifest may lead to the resources that it names.
    private func check(_ urls: [String], in manifest: Manifest) throws(CacheError) {
        for url in urls { try ReferenceTrust(of: cache).check(try MediaURL(cachable: url), namedBy: manifest.url) }
    }

    // MARK: Parts

    /// The bytes of a part, and how many of them were stored before.
    private struct Fetched: Sendable {
        var bytes: Int64
        var stored: Int64
    }

    private func fetch(_ parts: [StreamPart], isPinning: Bool, _ report: (Progress) -> Void) async throws {
        try await withThrowingTaskGroup(of: Fetched.self) { group in
            var next = parts.makeIterator()
            for _ in 0..<Self.partsAtOnce {
                if let part = next.next() { group.addTask { try await fetch(part, isPinning: isPinning) } }
            }
            var progress = Progress()
            progress.partCount = parts.count
            while let fetched = try await group.next() {
                progress.finishedPartCount += 1
                progress.finishedBytes = progress.finishedBytes.addingSaturated(fetched.bytes)
                progress.storedBytes = progress.storedBytes.addingSaturated(fetched.stored)
                report(progress)
                if let part = next.next() { group.addTask { try await fetch(part, isPinning: isPinning) } }
            }
        }
    }

    private func fetch(_ part: StreamPart, isPinning: Bool) async throws -> Fetched {
        let key = try cache.key(for: part.url)
        if isPinning { try await cache.pin(key) }
        if let bytes = try await cache.status(of: key).flatMap(part.storedBytes) { return Fetched(bytes: bytes, stored: bytes) }
        var options = ReadOptions()
        options.priority = .prefetch
        let reader = try cache.reader(for: part.url, options: options)
        defer { reader.cancel() }
        return try await naming(part.url) {
            var received: Int64 = 0
            for try await chunk in reader.chunks(in: part.range.map { $0.lowerBound..<$0.upperBound }) {
                received = received.addingSaturated(Int64(chunk.count))
            }
            if let range = part.range, received < range.count {
                let reason = "\(part.url) has only \(received) of the \(range.count) bytes that its playlist lists"
                throw CacheError(.originMalformed, reason, key: key)
            }
            return Fetched(bytes: received, stored: 0)
        }
    }

    /// Checks that everything is stored. Bytes that were only passed on are not.
    private func confirm(_ parts: [StreamPart]) async throws(CacheError) {
        try await withCheckedContinuation { continuation in cache.enterReceived { continuation.resume(returning: $0) } }.get()
        var missing = 0
        var first = ""
        for part in parts {
            let status = try await cache.status(of: part.url)
            guard status.flatMap(part.storedBytes) == nil else { continue }
            if missing == 0 { first = "\(part.url): \(status?.notStoredBecause ?? "it was not kept")" }
            missing += 1
        }
        guard missing > 0 else { return }
        throw CacheError(.notStored, "\(missing) of \(parts.count) parts were fetched and are not stored, the first of them \(first)")
    }

    /// Runs `body`, and adds the URL to its error.
    private func naming<Value>(_ url: String, _ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch var error as CacheError {
            if !error.message.contains(url) { error.message = "\(url): \(error.message)" }
            throw error
        }
    }
}

/// Parts in order, each once.
private struct PartList {
    private(set) var list: [StreamPart] = []
    private var seen = Set<StreamPart>()

    init(_ parts: [StreamPart]) { add(parts) }

    mutating func add(_ parts: [StreamPart]) { for part in parts where seen.insert(part).inserted { list.append(part) } }
}

extension StreamPart {
    /// The number of bytes of the part, if all of them are stored.
    fileprivate func storedBytes(_ status: ResourceStatus) -> Int64? {
        guard let range else { return status.isComplete ? status.representation.length : nil }
        return status.stored.contains(range) ? range.count : nil
    }
}
