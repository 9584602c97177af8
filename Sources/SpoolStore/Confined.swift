import SpoolCore
import SpoolSystem

/// A value that one thread at a time uses, as its owner's contract requires. The rule is checked at
/// run time.
///
/// Unlike `Locked`, it never waits: two calls at once are a mistake of the caller and trap. I/O
/// inside `use` is therefore allowed.
final class Confined<Value>: @unchecked Sendable {
    // Safe to share: `value` is touched only between `enter` and `leave`, whose lock orders the
    // threads.
    private var value: Value
    private let isEntered = Locked(false)
    private let name: StaticString

    /// The creator passes the value on and keeps no other reference to its contents.
    /// - Parameter name: the name of the value's users in the trap's message.
    init(_ value: Value, name: StaticString) {
        self.value = value
        self.name = name
    }

    /// Runs `body` with the value.
    /// - Precondition: no other call is running.
    func use<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
        enter()
        defer { isEntered.withLock { $0 = false } }
        return try body(&value)
    }

    private func enter() {
        let wasEntered = isEntered.withLock { exchange(&$0, with: true) }
        precondition(!wasEntered, "two \(name) at once: they are made on one lane, one after the other")
    }
}
