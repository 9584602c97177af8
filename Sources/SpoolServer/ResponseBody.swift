/// A response body that is pulled, so that a slow client slows nothing else.
///
/// Called on the connection's event loop only.
package protocol BodySource: AnyObject {
    /// What can be sent now, at most `max` bytes.
    ///
    /// A source that answers `.wait` calls the wake-up closure that it was given (`onReadable`) once it has more, from any thread.
    /// The answer stays valid until the next call of `next`, `consumed` or `close`.
    func next(max: Int) -> BodyChunk
    /// `count` bytes of the last chunk went to the client; 0 is allowed.
    func consumed(_ count: Int)
    /// The last chunk's file could not be read: it ends before the chunk, or the disk failed. Nothing of the chunk was sent.
    ///
    /// True when `next` answers with these bytes in another way, perhaps after a `.wait`; false when the body can't go on.
    func couldNotRead() -> Bool
    /// The connection has no more use for the source: the body was sent, or the client left. Once.
    func close()
    /// Sets what to call when `.wait` is over. Once, before `next`.
    func onReadable(_ wake: @escaping @Sendable () -> Void)
    /// Whether the last chunk, which `file` keeps alive, may still be sent: asked after a wait for the disk. When it may not, the
    /// connection asks `next` again.
    func maySend(_ file: AnyObject) -> Bool
    /// Whether the first chunk is known to be memory: then its beginning leaves with the head.
    var beginsInMemory: Bool { get }
}

extension BodySource {
    package func maySend(_ file: AnyObject) -> Bool { true }
    package var beginsInMemory: Bool { false }
    package func couldNotRead() -> Bool { false }
}

/// What a source has.
package enum BodyChunk {
    /// Bytes of an open file, to be sent with `sendfile`. `keepAlive` holds the descriptor open.
    case file(descriptor: Int32, offset: Int64, count: Int, keepAlive: AnyObject)
    /// Bytes in memory. `keepAlive` owns them.
    case memory(UnsafeRawBufferPointer, keepAlive: AnyObject)
    /// Nothing yet.
    case wait
    /// The body is complete.
    case end
    /// The body can't be completed: the connection is closed short, so that the client sees it.
    case abort(String)
}
