public import SpoolCore
import SpoolSystem

/// How a stored resource becomes a file of the user's.
public struct ExportOptions: Sendable {
    /// Put the file in the place of one that has its name; else that is an error.
    public var replacesExisting = false
    /// Let the file be another name of the store's own (a hard link) where it can't be a clone: it takes no time and no room, but it is
    /// one file. Who changes it damages what is stored; it stays whole when the resource is evicted.
    public var mayLink = false

    public init() {}
}

/// A stored resource that became a file.
public struct ExportedFile: Sendable {
    /// How the bytes came there.
    public enum Method: String, Sendable {
        /// The file shares its blocks with the store's until one of them changes.
        case clone
        /// The file is the store's own under a second name.
        case link
        /// Bytes were copied.
        case copy
    }

    public var key: ResourceKey
    public var path: String
    /// The size of the file, in bytes.
    public var bytes: Int64
    /// The version that it is, with its type.
    public var representation: Representation
    public var method: Method
}

/// What is known of a file that becomes a stored resource, besides its bytes.
public struct ImportOptions: Sendable {
    /// The media type; nil to go by the extension of the file, else by that of the URL's path.
    public var contentType: String?
    /// What identifies the version at the origin, where that is known: an origin that is asked later can then say that it is current.
    public var validator = Validator.none
    /// Put the file in the place of what is stored; else anything that is stored of the resource is an error.
    public var replacesStored = false

    public init() {}
}

/// A file that became a stored resource.
public struct ImportedFile: Sendable {
    public var key: ResourceKey
    /// The size of the file, in bytes.
    public var bytes: Int64
    /// What is known of the version from now on.
    public var representation: Representation
}

/// Whether somebody wants a transfer to stop; looked at between its steps.
package final class TransferCancellation: Sendable {
    private let state = Locked(false)

    package init() {}

    package var isCancelled: Bool { state.withLock { $0 } }

    package func cancel() { state.withLock { $0 = true } }
}
