import Spool
import SpoolCore
import SpoolManifests
import SpoolSystem

/// Brings all parts of an adaptive stream into the store: manifests, segments, keys and init
/// sections of the selected renditions.
///
/// A part that is stored already is not read, so a repeated download goes on where the last one
/// ended.
struct PresentationDownload: Sendable {
    let cache: MediaCache
    let url: String
    let selection: StreamSelection

    /// The parts that are fetched at the same time. One slot of each host is left for playback.
    private static let partsAtOnce = 4

    private static var options: ReadOptions {
        var options = ReadOptions()
        options.priority = .prefetch
        return options
    }

    /// Downloads the presentation of a manifest.
    func run(_ outline: StreamOutline, progress: inout ProgressLine) async throws {
        guard !outline.isLive else { throw Failure("\(url) is a live stream, which has no end; play it through 'spool serve'") }
        let renditions = selection.renditions(of: outline)
        guard !renditions.isEmpty else { throw Failure("\(url) lists no variant that could be downloaded") }
        var parts = Set<StreamPart>(), ordered: [StreamPart] = []
        for part in outline.sharedParts where parts.insert(part).inserted { ordered.append(part) }
        for rendition in renditions {
            for part in try await self.parts(of: rendition, variables: outline.variables) where parts.insert(part).inserted {
                ordered.append(part)
            }
        }
        try await fetch(ordered, progress: &progress)
    }

    private func parts(of rendition: StreamRendition, variables: [String: String]) async throws -> [StreamPart] {
        guard let playlist = rendition.playlist else { return rendition.parts }
        let reader = try cache.reader(for: playlist, options: Self.options)
        defer { reader.cancel() }
        let bytes = try await naming(playlist) { try await ManifestText.read(reader) }
        guard let outline = try bytes.flatMap({ try StreamOutline.read($0, at: playlist, variables: variables) }) else {
            throw Failure("\(playlist) is no playlist")
        }
        guard !outline.isLive else { throw Failure("\(url) is a live stream, which has no end; play it through 'spool serve'") }
        return outline.renditions.flatMap(\.parts)
    }

    // MARK: Parts

    /// The bytes of a part, and how many of them were stored before.
    private struct Fetched: Sendable {
        var bytes: Int64
        var stored: Int64
    }

    private func fetch(_ parts: [StreamPart], progress: inout ProgressLine) async throws {
        try await withThrowingTaskGroup(of: Fetched.self) { group in
            var next = parts.makeIterator()
            for _ in 0..<Self.partsAtOnce {
                if let part = next.next() { group.addTask { try await fetch(part) } }
            }
            var done: Int64 = 0
            while let fetched = try await group.next() {
                done += 1
                // Manifests give no lengths, so the whole is estimated from the parts so far.
                progress.total = (progress.received + fetched.bytes) / done * Int64(parts.count)
                progress.add(fetched.bytes, fromStore: fetched.stored)
                if let part = next.next() { group.addTask { try await fetch(part) } }
            }
            progress.total = progress.received
        }
    }

    private func fetch(_ part: StreamPart) async throws -> Fetched {
        let status = try await cache.status(of: part.url)
        if let status, let bytes = part.storedBytes(status) { return Fetched(bytes: bytes, stored: bytes) }
        let reader = try cache.reader(for: part.url, options: Self.options)
        defer { reader.cancel() }
        return try await naming(part.url) {
            var count: Int64 = 0
            for try await chunk in reader.chunks(in: part.range.map { $0.lowerBound..<$0.upperBound }) { count += Int64(chunk.count) }
            if let range = part.range, count < range.count {
                throw Failure("\(part.url) has only \(count) of the \(range.count) bytes that its playlist lists")
            }
            return Fetched(bytes: count, stored: 0)
        }
    }

    /// Runs `body`, and adds the URL to its error.
    private func naming<Value>(_ url: String, _ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch var error as CacheError {
            if !error.message.contains(url) { error.message = "\(url): \(error.message)" }
            throw error
        }
    }
}

extension StreamPart {
    /// The number of bytes of the part, if all of them are stored.
    fileprivate func storedBytes(_ status: ResourceStatus) -> Int64? {
        guard let range else { return status.isComplete ? status.representation.length : nil }
        return status.stored.gaps(in: range).isEmpty ? range.count : nil
    }
}

/// The whole text of a manifest.
enum ManifestText {
    /// Reads a resource that may be a manifest.
    ///
    /// - Returns: nil for a resource that is larger than any manifest.
    static func read(_ reader: ByteReader) async throws -> [UInt8]? {
        let limit = ManifestLimits().maxBytes
        var bytes: [UInt8] = []
        for try await chunk in reader.chunks() {
            guard bytes.count + chunk.count <= limit else { return nil }
            bytes += chunk
        }
        return bytes
    }
}
