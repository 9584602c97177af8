/// The reason why bytes are passed on without being stored.
package enum NotStoredReason: Hashable, Sendable {
    /// `Cache-Control: no-store` (RFC 9111 §5.2.2.5).
    case noStore
    /// The answer has titles between the bytes of the resource (`icy-metaint`), at places that
    /// depend on where it began.
    case titlesBetweenBytes
    /// `Vary: *` (RFC 9111 §4.1).
    case varyAny
    /// `Cache-Control: private`, and the cache serves several users (RFC 9111 §5.2.2.7).
    case privateResponse
    /// The request carried credentials, and the cache serves several users (RFC 9111 §3.5).
    case authorizedRequest
    /// A response with this status, which states no lifetime, is for the moment.
    case status(Int)
    /// An HTML page came where media were expected. The value is its media type.
    case unexpectedType(String)
    /// The resource exceeds the limit for one resource, in bytes.
    case tooLarge(limit: Int64)
    /// The origin states a length, or a last position, beyond `ByteRange.maximumOffset`.
    case lengthBeyondBound
    /// The reader asked that nothing be stored.
    case byRequest
    /// Readers of two earlier versions still use the files of those.
    case olderVersionsInUse
    /// The store is open for reading only.
    case readOnlyStore
    /// The store is open for reading only, and the server that has it keeps the bytes.
    case storedByServer
    /// The bytes in use fill the quota.
    case quotaReached
    /// The disk has no more free space than the store leaves to others.
    case diskReserved
    /// The file system of the store cannot hold a file of that size.
    case fileTooLarge
    /// The store failed repeatedly and is not used for a while.
    case storeRests
    /// The store failed. The value is its own message.
    case storeTrouble(String)
}

extension NotStoredReason: CustomStringConvertible {
    /// The reason in words for people, as events, the log and `spool stat` show it.
    package var description: String {
        switch self {
        case .noStore: "the origin forbids it (Cache-Control: no-store)"
        case .titlesBetweenBytes: "it has titles between the bytes of the sound (icy-metaint)"
        case .varyAny: "each request gets an answer of its own (Vary: *)"
        case .privateResponse: "it is for one user (Cache-Control: private), and several share this cache"
        case .authorizedRequest: "it was asked for with credentials, and several users share this cache"
        case .status(let status): "the origin answered \(status), which holds for the moment only"
        case .unexpectedType(let type): "it is a page (\(type)) in place of media"
        case .tooLarge(let limit): "it is larger than \(limit) bytes, the most that is kept of one resource"
        case .lengthBeyondBound:
            "the origin states a length beyond 2^60 bytes, which is no length of a file (servers that transcode send such ones)"
        case .byRequest: "the request asked not to store it"
        case .olderVersionsInUse: "two earlier versions of it are still being read"
        case .readOnlyStore: "the store is open for reading only"
        case .storedByServer: "the server that has the store keeps it"
        case .quotaReached: "the quota is used up by what is in use"
        case .diskReserved: "the rest of the disk is kept free for others (--min-free)"
        case .fileTooLarge: "the file is too large for the file system of the store"
        case .storeRests: "the store failed repeatedly; Spool tries it again after a pause"
        case .storeTrouble(let words): "the store failed: \(words)"
        }
    }
}

extension NotStoredReason {
    /// Whether the resource exceeds the limit for one resource.
    var isTooLarge: Bool {
        if case .tooLarge = self { true } else { false }
    }

    /// Whether the response itself or its request forbids storing. Such a response answers the
    /// requests that were waiting for it, and no later one.
    var forbidsReuse: Bool {
        switch self {
        case .noStore, .titlesBetweenBytes, .varyAny, .privateResponse, .authorizedRequest, .status, .byRequest: true
        case .unexpectedType, .tooLarge, .lengthBeyondBound, .olderVersionsInUse, .readOnlyStore, .storedByServer, .quotaReached,
            .diskReserved, .fileTooLarge, .storeRests, .storeTrouble:
            false
        }
    }
}
