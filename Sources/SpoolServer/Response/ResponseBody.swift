package import SpoolSystem

/// A response body that the connection pulls, so that a slow client delays no other.
///
/// Called on the connection's event loop only.
package protocol BodySource: AnyObject {
    /// Returns the bytes that can be sent now, at most `max`.
    ///
    /// A source that returns `.wait` calls the closure of `onReadable` once it has more bytes, from
    /// any thread. The result stays valid until the next call of `next`, `consumed` or `close`.
    func next(max: Int) -> BodyChunk
    /// Advances by the `count` bytes of the last chunk that went to the client. 0 is allowed.
    func consumed(_ count: Int)
    /// Handles a chunk whose file could not be read, because it ends before the chunk or the disk
    /// failed. No byte of the chunk was sent.
    ///
    /// - Returns: True when `next` returns these bytes in another way, perhaps after a `.wait`.
    ///   False when the body cannot go on.
    func couldNotRead() -> Bool
    /// Releases the source, because the body was sent or the client left. Called once.
    func close()
    /// Sets the closure to call when `.wait` is over. Called once, before `next`.
    func onReadable(_ wake: @escaping @Sendable () -> Void)
    /// Returns whether the last chunk, which `file` keeps alive, may still be sent. The connection
    /// calls it after a wait for the disk. When the result is false, it calls `next` again.
    func maySend(_ file: AnyObject) -> Bool
    /// Whether the first chunk is certainly in memory. Then its beginning leaves with the head.
    var beginsInMemory: Bool { get }
}

extension BodySource {
    /// Returns true.
    package func maySend(_ file: AnyObject) -> Bool { true }
    /// False.
    package var beginsInMemory: Bool { false }
    /// Returns false.
    package func couldNotRead() -> Bool { false }
}

/// The next bytes of a source, or the reason why there are none.
package enum BodyChunk {
    /// Bytes of an open file, to be sent with `sendfile`. `keepAlive` holds the descriptor open.
    case file(descriptor: Int32, offset: Int64, count: Int, keepAlive: AnyObject)
    /// Bytes in memory.
    case memory(OwnedBytes)
    /// No bytes yet.
    case wait
    /// The body is complete.
    case end
    /// The body cannot be completed. The connection is cut, so that the client notices.
    case abort(String)
}
