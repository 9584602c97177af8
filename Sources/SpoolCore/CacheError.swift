/// What went wrong, on what, and what can be done about it.
///
/// Codes are open: match the ones you know and treat others by `message`.
public struct CacheError: Error, Sendable {
    /// What kind of trouble it is.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(_ rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// The origin can't be reached: no address, refused, reset, no route.
        public static let originUnreachable = Code("originUnreachable")
        /// The origin was silent for too long.
        public static let originTimeout = Code("originTimeout")
        /// The origin answered with an error status; see `status`.
        public static let originStatus = Code("originStatus")
        /// The origin's answer breaks HTTP, ended early, or redirects where we do not go.
        public static let originMalformed = Code("originMalformed")
        /// TLS failed.
        public static let tlsFailed = Code("tlsFailed")
        /// The resource changed while it was read.
        public static let representationChanged = Code("representationChanged")
        /// The range begins at or after the end of the resource.
        public static let rangeNotSatisfiable = Code("rangeNotSatisfiable")
        /// The bytes are not stored and the origin was not to be asked.
        public static let notStored = Code("notStored")
        /// The resource was removed while it was read.
        public static let removed = Code("removed")
        /// The cache was closed, or the reader cancelled.
        public static let closed = Code("closed")
        /// The URL can't be cached: not absolute, not http or https, malformed.
        public static let unsupportedURL = Code("unsupportedURL")
        /// The store can't be opened, read or written.
        public static let store = Code("store")
        /// Another process has the store for writing.
        public static let storeLocked = Code("storeLocked")
        /// The store is encrypted and its key was not given, or is another; or it is not encrypted and one was given.
        public static let key = Code("key")
        /// The app's content transform failed.
        public static let transform = Code("transform")
        /// A file outside the store can't be read or written.
        public static let file = Code("file")
        /// What was to be made is there already, and is not to be replaced.
        public static let exists = Code("exists")
        /// The limits of the store leave no room for it.
        public static let noRoom = Code("noRoom")
        /// The caller's task was cancelled.
        public static let cancelled = Code("cancelled")
        /// The configuration makes no sense.
        public static let configuration = Code("configuration")
    }

    public var code: Code
    /// What failed, on what, and what to do, in one sentence.
    public var message: String
    public var key: ResourceKey?
    /// The origin's status, for `.originStatus`.
    public var status: Int?
    /// What lies beneath.
    public var cause: (any Error)?

    public init(_ code: Code, _ message: String, key: ResourceKey? = nil, status: Int? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.key = key
        self.status = status
        self.cause = cause
    }

    /// Whether the same call may succeed later without a change on our side.
    public var isRetryable: Bool {
        switch code {
        case .originUnreachable, .originTimeout, .originMalformed: true
        case .originStatus: status.map { $0 == 408 || $0 == 429 || $0 >= 500 } ?? false
        default: false
        }
    }
}

extension CacheError: CustomStringConvertible {
    public var description: String {
        "\(code): \(message)" + (cause.map { "\n  because \($0)" } ?? "")
    }
}

extension CacheError {
    /// The public words for why a reader ended.
    package init(_ failure: ReadFailure, key: ResourceKey) {
        switch failure {
        case .origin(let error): self.init(error, key: key)
        case .notStored: self.init(.notStored, "the bytes are not stored, and only stored bytes were asked for", key: key)
        case .removed: self.init(.removed, "the resource was removed from the cache; open it again", key: key)
        case .closed: self.init(.closed, "the reader or the cache was closed", key: key)
        }
    }

    package init(_ error: OriginError, key: ResourceKey) {
        switch error {
        case .unreachable(let why):
            self.init(.originUnreachable, "the origin can't be reached: \(why)", key: key, cause: error)
        case .timeout(let why):
            self.init(.originTimeout, "the origin is silent: \(why)", key: key, cause: error)
        case .tls(let why):
            self.init(.tlsFailed, "TLS with the origin failed: \(why)", key: key, cause: error)
        case .status(let status, _):
            self.init(.originStatus, "the origin answered \(status)", key: key, status: status, cause: error)
        case .representationChanged:
            self.init(.representationChanged, "the resource changed at its origin while it was read; start again", key: key, cause: error)
        case .rangeNotSatisfiable(let length):
            let end = length.map { "it has \($0) bytes" } ?? "the origin says so"
            self.init(.rangeNotSatisfiable, "the range lies beyond the end of the resource: \(end)", key: key, cause: error)
        case .truncated(let bytes):
            self.init(.originMalformed, "the origin's answer ended early, after \(bytes) bytes", key: key, cause: error)
        case .malformed(let why):
            self.init(.originMalformed, "the origin's answer can't be used: \(why)", key: key, cause: error)
        case .redirect(let why):
            self.init(.originMalformed, "the origin's redirect is not followed: \(why)", key: key, cause: error)
        case .unsupportedURL(let url):
            self.init(.unsupportedURL, "only absolute http and https URLs can be cached: \(url)", key: key, cause: error)
        }
    }
}
