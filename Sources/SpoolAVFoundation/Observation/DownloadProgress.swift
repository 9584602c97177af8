#if !os(watchOS)
/// The state of a download.
public struct DownloadProgress: Hashable, Sendable {
    /// The available bytes from the beginning.
    public var completedBytes: Int64 = 0
    /// The length of the resource in bytes, once it is known.
    public var totalBytes: Int64?
    /// Whether the download is over, for any reason. `MediaDownload.completion()` throws the error.
    public var isOver = false

    /// Creates the state of a download that begins.
    public init() {}

    /// The available part of the whole, from 0 to 1, or 0 while the length is unknown.
    public var fractionCompleted: Double {
        guard let totalBytes, totalBytes > 0 else { return 0 }
        return min(1, Double(completedBytes) / Double(totalBytes))
    }
}

extension MediaDownload {
    /// A stream of the download's state: now, and at each change. It ends with the download. A slow
    /// consumer gets the newest state only.
    ///
    /// ```swift
    /// for await state in download.updates { bar.value = state.fractionCompleted }
    /// ```
    public var updates: AsyncStream<DownloadProgress> { broadcast.stream() }
}
#endif
