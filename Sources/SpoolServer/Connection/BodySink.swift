/// Receives the body of a request for a handler. The connection calls it on its loop.
package protocol BodySink: AnyObject {
    /// Takes as many bytes as there is room for.
    ///
    /// When the sink takes fewer bytes than offered, it calls the closure of `onRoom` once there is
    /// room again, from any thread.
    ///
    /// - Returns: The number of bytes that the sink took.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Int
    /// Sets the closure to call when there is room again. Called once, before `receive`.
    func onRoom(_ wake: @escaping @Sendable () -> Void)
    /// Ends the body. Called once.
    ///
    /// - Parameter isComplete: Whether the sink took all bytes of the body. It is false when the
    ///   client left, or when the response ended first.
    func ended(isComplete: Bool)
}

/// A request body that arrives while its request is answered.
struct Upload {
    let sink: any BodySink
    /// The number of body bytes that have not arrived yet.
    var remaining: Int
    /// Whether the sink is full. The sink calls the closure of `onRoom` when it has room again.
    var isFull = false
}
