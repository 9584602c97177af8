public import SpoolCore
import SpoolSystem

/// The way in which a stored resource becomes a file.
public struct ExportOptions: Sendable {
    /// Whether the export replaces an existing file of that name. If false, the default, an
    /// existing file is an error.
    public var replacesExisting = false
    /// Whether the file may be a second name of the file in the store (a hard link) where it can't
    /// be a clone.
    ///
    /// A link takes no time and no room, but it is the same file: writing to it damages the stored
    /// bytes. It stays complete when the resource is evicted. The default is false.
    public var mayLink = false

    /// Creates the default options.
    public init() {}
}

/// A stored resource that was exported as a file.
public struct ExportedFile: Sendable {
    /// The way in which the bytes got into the file.
    public enum Method: String, Sendable {
        /// The file shares its blocks with the file in the store until one of them changes.
        case clone
        /// The file is the file in the store, under a second name.
        case link
        /// The bytes were copied.
        case copy
    }

    /// The key of the resource.
    public var key: ResourceKey
    /// The path of the file.
    public var path: String
    /// The size of the file in bytes.
    public var bytes: Int64
    /// The exported version, with its type.
    public var representation: Representation
    /// The way in which the bytes got into the file.
    public var method: Method
}

/// The metadata of a file that becomes a stored resource.
public struct ImportOptions: Sendable {
    /// The media type. Nil means the type for the file extension of the path, or else of the URL.
    public var contentType: String?
    /// The validator of the version at the origin, if known. With it, an origin that is asked later
    /// can confirm that the version is current.
    public var validator = Validator.none
    /// Whether the import replaces stored bytes of the resource. If false, the default, stored
    /// bytes are an error.
    public var replacesStored = false

    /// Creates the default options.
    public init() {}
}

/// A file that was imported as a stored resource.
public struct ImportedFile: Sendable {
    /// The key of the resource.
    public var key: ResourceKey
    /// The size of the file in bytes.
    public var bytes: Int64
    /// The metadata of the stored version.
    public var representation: Representation
}

/// A flag by which a caller stops a transfer. The transfer checks it between its steps.
package final class TransferCancellation: Sendable {
    private let state = Locked(false)

    /// Creates a flag that is not set.
    package init() {}

    /// Whether the transfer is to stop.
    package var isCancelled: Bool { state.withLock { $0 } }

    /// Stops the transfer at its next step. Idempotent.
    package func cancel() { state.withLock { $0 = true } }
}

extension TransferCancellation {
    /// Runs a transfer that calls back, and stops it when the task is cancelled.
    package static func run<Value: Sendable>(
        _ transfer: (TransferCancellation, @escaping Completion<Value>) -> Void
    ) async throws(CacheError) -> Value {
        let cancellation = TransferCancellation()
        return try await result(onCancel: { cancellation.cancel() }, { done in transfer(cancellation, done) })
    }
}
