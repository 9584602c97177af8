import SpoolCore
public import SpoolManifests

/// A download of an HLS or DASH presentation, as a sequence of its progress.
///
/// Iterating runs the download: the sequence ends when every part of the selection is stored, and
/// throws a `CacheError` otherwise. Parts that are stored already are not fetched, so a repeated
/// download goes on where the last one ended. Cancelling the iterating task stops it, and bytes
/// that arrived stay stored.
///
/// ```swift
/// let manifest = "https://example.com/film/master.m3u8"
/// for try await progress in cache.presentations.download(manifest, selection:
/// PresentationSelection()) {
///     print("\(progress.finishedPartCount) of \(progress.partCount) parts")
/// }
/// ```
public struct PresentationDownload: AsyncSequence, Sendable {
    /// The state of a download after one more part.
    public struct Progress: Hashable, Sendable {
        /// The number of parts: segments, keys and initialisation sections.
        public var partCount = 0
        /// The number of parts that are done.
        public var finishedPartCount = 0
        /// The bytes of the parts that are done.
        public var finishedBytes: Int64 = 0
        /// The bytes of them that were stored before the download.
        public var storedBytes: Int64 = 0

        /// The bytes of all parts, estimated from those that are done, because manifests give no
        /// lengths. Nil before the first part is done.
        public var estimatedBytes: Int64? {
            guard finishedPartCount > 0 else { return nil }
            if finishedPartCount >= partCount { return finishedBytes }
            return (finishedBytes / Int64(finishedPartCount)).multipliedSaturated(by: Int64(partCount))
        }
    }

    /// The progress after each part.
    public typealias Element = Progress

    let fetch: PresentationFetch

    /// Returns an iterator that begins the download. Each iterator is a download of its own.
    ///
    /// Steps that no call waits for are left out, apart from the last. The iterator throws a
    /// `CacheError` with a code that ``Presentations/download(_:selection:)`` lists.
    public func makeAsyncIterator() -> AsyncThrowingStream<Progress, any Error>.Iterator {
        let stream = AsyncThrowingStream<Progress, any Error>(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task { [fetch] in
                do {
                    try await fetch.run { continuation.yield($0) }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
        return stream.makeAsyncIterator()
    }
}

extension Presentations {
    /// Returns a download of the selected renditions of an HLS or DASH presentation.
    ///
    /// Four parts are fetched at a time, after requests for playback. When a part is forbidden or
    /// missing at its origin, the manifests are asked for again once, because their signatures may
    /// have expired. The parts of a pinned presentation are pinned as well.
    ///
    /// Iterating throws the errors of `ByteReader`, with the URL of the part in the message; and
    /// `.unsupportedURL` for a resource that is no presentation, for a live stream, and for more
    /// than 1 048 576 parts; `.notStored` if parts were fetched and must not be stored, or had no
    /// room.
    ///
    /// - Parameters:
    ///   - url: The URL of the manifest.
    ///   - selection: The renditions to download.
    public func download(_ url: String, selection: PresentationSelection) -> PresentationDownload {
        PresentationDownload(fetch: PresentationFetch(cache: cache, url: url, selection: selection))
    }
}
