package import SpoolCore
package import SpoolStore
import SpoolSystem

extension Configuration {
    /// Where the store is, and how it is opened.
    public struct Storage: Sendable {
        /// The directory of the store, created if it is missing. Nil, the default, means the
        /// default directory of `name`.
        public var directory: String?
        /// The name of the default directory: `Caches/<name>` on Apple's systems,
        /// `$XDG_CACHE_HOME/<name>` elsewhere. The default is `spool`.
        public var name = "spool"
        /// The most bytes that are stored of one resource; at least 1. A larger resource is passed
        /// on and not stored. Nil, the default, means unlimited.
        public var maximumResourceBytes: Int64?
        /// The most descriptors that the store keeps for data files, besides those that are being
        /// sent to a client; at least 16.
        ///
        /// Nil means 64, or a quarter of the descriptors that the process may open if that is less.
        /// On Apple's systems a process may open 256, and the app around the cache needs most of
        /// them. With few descriptors a store opens and closes its files more often; it stores just
        /// as much.
        public var openFileCount: Int?
        /// Whether the store is opened for reading only. Then nothing is stored. The default is
        /// false.
        public var isReadOnly = false
        /// Whether players of the cache make everything durable and release the locks on the store
        /// before the system suspends the app, and take them again afterwards. Set it to false to
        /// call `suspend()` and `resume()` yourself. On macOS and Linux it has no effect.
        public var followsAppLifecycle = true
        /// The resources that the store may delete when the disk is too full to open it for
        /// writing.
        package var expendable: SQLiteStore.Expendable?
        /// Called for each file that the store deleted for that, with its resource, if known, and
        /// the bytes that it occupied.
        package var onExpended: @Sendable (ResourceKey?, Int64) -> Void = { _, _ in }

        /// Creates the default settings.
        public init() {}

        /// The share of the descriptors of the process that data files take at most, as a divisor,
        /// if `openFileCount` is nil.
        package static let descriptorShare = 4

        /// The limits on open data files, from the descriptors that the process may open now.
        var openFileLimits: OpenFileLimits {
            let share = DescriptorLimit.current / Self.descriptorShare
            return OpenFileLimits(descriptors: openFileCount ?? min(OpenFileLimits.appDescriptors, share))
        }

        /// Throws an error about the first value that is out of bounds.
        func validate() throws(CacheError) {
            if let maximumResourceBytes {
                try Configuration.require(
                    maximumResourceBytes >= 1,
                    "storage.maximumResourceBytes is \(maximumResourceBytes); give at least 1, or nil for no limit")
            }
            if let openFileCount {
                let least = OpenFileLimits.leastDescriptors
                try Configuration.require(
                    openFileCount >= least, "storage.openFileCount is \(openFileCount); give at least \(least), or nil for the default")
            }
        }
    }
}
