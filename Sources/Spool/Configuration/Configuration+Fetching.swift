public import SpoolCore

extension Configuration {
    /// How far ahead the cache fetches, with how many requests and how much memory.
    public struct Fetching: Sendable {
        /// How far fetches go beyond readers. `ReadOptions.fetchPolicy` overrides it for one
        /// reader.
        public var policy = FetchPolicy.whilePlaying
        /// How far a fetch runs ahead of the furthest reader under `.whilePlaying`, in bytes; at
        /// least 65 536.
        ///
        /// The default is 4 MiB: some seconds of video at a high bit rate, and the most that is
        /// fetched in vain when the player seeks away.
        public var readAheadBytes: Int64 = 4 << 20
        /// The most origin requests at once; at least 1. The default of 64 bounds descriptors and
        /// tails (64 KiB each).
        ///
        /// Up to three quarters more run while others wait: requests for playback beside those
        /// below 4 KiB/s, and those of a client of a proxy that has less than its share (a
        /// quarter).
        public var maximumFetches = 64
        /// The origin requests to one host at once, at least 1. The default is 6, as in browsers.
        ///
        /// The number is a courtesy. A client that has waited for a second gets one more, up to four
        /// times as many, and so does a client of a proxy that has none. Requests that the origin
        /// may hold back do not count, and neither do late answers and, after ten seconds, bodies
        /// that are endless or silent. Read-ahead and preloads never pass the number.
        public var maximumFetchesPerHost = 6
        /// The memory for received bytes on their way to the disk, in buffers of 1 MiB; at least 1.
        /// The default of 16 saturates a disk and bounds the memory.
        public var bufferCount = 16
        /// The number of unused resources whose sessions stay in memory; at least 0. The default of
        /// 256 takes a few hundred bytes each.
        public var idleSessionCount = 256

        /// Chooses among the variants of an HLS presentation, or of a period of DASH: returns an index,
        /// or nil for the choice of the ``PresentationSelection``. Preloads and downloads call it,
        /// on any thread; players choose by themselves.
        public var chooseVariant: (@Sendable (_ variants: [PresentationStatus.Track]) -> Int?)?

        /// Creates the default settings.
        public init() {}

        /// Throws an error about the first value that is out of bounds.
        func validate() throws(CacheError) {
            try Configuration.require(
                readAheadBytes >= 65_536, "fetching.readAheadBytes is \(readAheadBytes); it must be at least 65536")
            try Configuration.require(bufferCount >= 1, "fetching.bufferCount is \(bufferCount); it must be at least 1")
            try Configuration.require(
                maximumFetches >= 1 && maximumFetchesPerHost >= 1,
                "fetching.maximumFetches and fetching.maximumFetchesPerHost must be at least 1")
            try Configuration.require(
                idleSessionCount >= 0, "fetching.idleSessionCount is \(idleSessionCount); it can't be negative")
        }
    }
}
