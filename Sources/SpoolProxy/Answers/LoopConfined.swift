/// A value of the loop's thread that travels in a closure to that thread.
package struct LoopConfined<Value>: @unchecked Sendable {
    // Safe to send: made and used on the loop's thread only.
    package let value: Value
    /// Wraps a value on the loop's thread.
    package init(_ value: Value) { self.value = value }
}
