import SpoolCore
import SpoolSystem
import SpoolTesting

/// The error of a condition that never came true.
package struct NeverCame: Error, CustomStringConvertible {
    /// The condition.
    package var condition: String
    /// The error in words.
    package var description: String { "for \(Awaited<Void>.hangSeconds) seconds this did not come true: \(condition)" }

    /// Creates the error of a condition.
    package init(condition: String) { self.condition = condition }
}

/// The least number of looks, however long they take. While tests that compute occupy every thread
/// of the pool, minutes can pass between two looks.
private let fewestLooks = 1000

/// Calls `look` again and again, yielding in between, until it returns a value.
///
/// - Throws: `NeverCame` after a time that only a hang takes.
package func eventually<Value>(_ condition: String, _ look: () async throws -> Value?) async throws -> Value {
    let time = SystemTime()
    let deadline = time.now + Nanoseconds.seconds(Int64(Awaited<Void>.hangSeconds))
    var looks = 0
    while time.now < deadline || looks < fewestLooks {
        looks += 1
        if let value = try await look() { return value }
        await Task.yield()
    }
    throw NeverCame(condition: condition)
}

/// The same for a Boolean condition.
package func eventually(_ condition: String, _ holds: () async throws -> Bool) async throws {
    try await eventually(condition) { try await holds() ? () : nil }
}
