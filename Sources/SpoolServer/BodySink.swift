/// Where the body of a request goes that a handler wants. Called on the connection's loop.
package protocol BodySink: AnyObject {
    /// Takes as many of the bytes as there is room for; how many that were. When it took fewer than were offered, it calls the wake-up
    /// (`onRoom`) once there is room, from any thread.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Int
    /// Sets what to call when there is room again. Once, before `receive`.
    func onRoom(_ wake: @escaping @Sendable () -> Void)
    /// Nothing more comes: all bytes were taken, or the client left, or the answer ended before. Once.
    func ended(isComplete: Bool)
}

/// A body that is being received while its request is answered.
struct Upload {
    let sink: any BodySink
    /// Bytes that are still to come.
    var remaining: Int
    /// The sink has no room; it will call.
    var isFull = false
}
