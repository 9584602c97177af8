/// An error of the cache: its kind, a message for people, and the resource.
///
/// Codes are open: match the ones that you handle, and treat others by `message`.
public struct CacheError: Error, Sendable {
    /// The kind of an error.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let rawValue: String
        /// Creates a code with this name.
        package init(_ rawValue: String) { self.rawValue = rawValue }
        /// The name of the code.
        public var description: String { rawValue }

        /// The origin can't be reached: no address, refused, reset, no route.
        public static let originUnreachable = Code("originUnreachable")
        /// The origin sent nothing for too long.
        public static let originTimeout = Code("originTimeout")
        /// The origin returned an error status; see `status`.
        public static let originStatus = Code("originStatus")
        /// The response breaks HTTP or ended early, or its redirect cannot be followed.
        public static let originMalformed = Code("originMalformed")
        /// The network policy does not permit the request under the present conditions, such as the
        /// cellular network. The cause has the reason (`OriginError.networkRefused`).
        public static let networkRefused = Code("networkRefused")
        /// TLS failed.
        public static let tlsFailed = Code("tlsFailed")
        /// The resource changed while it was read.
        public static let representationChanged = Code("representationChanged")
        /// The range begins at or after the end of the resource.
        public static let rangeNotSatisfiable = Code("rangeNotSatisfiable")
        /// The bytes are not stored, and the read may not ask the origin.
        public static let notStored = Code("notStored")
        /// The resource was removed while it was read.
        public static let removed = Code("removed")
        /// The cache was closed, or the reader cancelled.
        public static let closed = Code("closed")
        /// The URL can't be cached: not absolute, not http or https, malformed.
        public static let unsupportedURL = Code("unsupportedURL")
        /// The store can't be opened, read or written.
        public static let store = Code("store")
        /// Another process has the store open for writing.
        public static let storeLocked = Code("storeLocked")
        /// The store is encrypted, and no key or a wrong key was given; or it is not encrypted, and
        /// a key was given.
        public static let key = Code("key")
        /// The app's content transform failed.
        public static let transform = Code("transform")
        /// A file outside the store can't be read or written.
        public static let file = Code("file")
        /// The file to be created exists already and must not be replaced.
        public static let exists = Code("exists")
        /// The limits of the store leave no room for the resource.
        public static let noRoom = Code("noRoom")
        /// The caller's task was cancelled.
        public static let cancelled = Code("cancelled")
        /// The configuration contradicts itself or a limit.
        public static let configuration = Code("configuration")
    }

    /// The kind of the error.
    public var code: Code
    /// The failed operation, the object of it, and a remedy, in one sentence.
    public var message: String
    /// The resource, where the error concerns one.
    public var key: ResourceKey?
    /// The status of the response, for `.originStatus`.
    public var status: Int?
    /// The error that caused this one.
    public var cause: (any Error)?

    /// Creates an error.
    public init(_ code: Code, _ message: String, key: ResourceKey? = nil, status: Int? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.key = key
        self.status = status
        self.cause = cause
    }

    /// Whether the same call may succeed later without a change by the caller.
    public var isRetryable: Bool {
        switch code {
        case .originUnreachable, .originTimeout, .originMalformed, .networkRefused: true
        case .originStatus: status.map { $0 == 408 || $0 == 429 || $0 >= 500 } == true
        default: false
        }
    }
}

extension CacheError {
    /// Returns the error with the URL before its message, unless the message contains it already.
    package func naming(_ url: String) -> CacheError {
        guard !message.contains(url) else { return self }
        var error = self
        error.message = "\(url): \(message)"
        return error
    }
}

extension CacheError: CustomStringConvertible {
    /// The code and the message in one line, followed by the cause unless the message contains it.
    public var description: String {
        guard let cause, !message.contains("\(cause)") else { return "\(code): \(message)" }
        return "\(code): \(message) (cause: \(cause))"
    }
}

extension CacheError {
    /// The public error for the end of a reader.
    package init(_ failure: ReadFailure, key: ResourceKey) {
        switch failure {
        case .origin(let error): self.init(error, key: key)
        case .notStored: self.init(.notStored, "the bytes are not stored, and only stored bytes were asked for", key: key)
        case .removed: self.init(.removed, "the resource was removed from the cache; open it again", key: key)
        case .closed: self.init(.closed, "the reader or the cache was closed", key: key)
        }
    }

    /// The public error for an error of the origin.
    package init(_ error: OriginError, key: ResourceKey) {
        let (code, advice): (Code, String) =
            switch error {
            case .unreachable, .notAsked: (.originUnreachable, "")
            case .timeout: (.originTimeout, "")
            case .tls: (.tlsFailed, "")
            case .status: (.originStatus, "")
            case .representationChanged: (.representationChanged, "; start again")
            case .rangeNotSatisfiable: (.rangeNotSatisfiable, "")
            case .truncated, .malformed, .redirect: (.originMalformed, "")
            case .unsupportedURL: (.unsupportedURL, "")
            case .networkRefused: (.networkRefused, "")
            }
        self.init(code, "\(error)\(advice)", key: key, cause: error)
        if case .status(let status, _) = error { self.status = status }
    }
}
