/// Gives a variable a new value, and returns its old one.
///
/// `!exchange(&isOver, with: true)` is true for the first caller alone.
@inlinable
package func exchange<Value>(_ variable: inout Value, with value: Value) -> Value {
    defer { variable = value }
    return variable
}
