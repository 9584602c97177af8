import SpoolCore
import SpoolSystem
import SpoolTesting

/// A condition that never came.
struct NeverCame: Error, CustomStringConvertible {
    var condition: String
    var description: String { "for \(Awaited<Void>.hangSeconds) seconds it was not so that \(condition)" }
}

/// Looks that are taken however long that lasts: where tests that compute have every thread of the pool, minutes pass between two of them.
private let fewestLooks = 1000

/// Asks again and again, letting others go on between, until `look` has an answer; throws when that takes as long as only a hang does.
func eventually<Value>(_ condition: String, _ look: () async throws -> Value?) async throws -> Value {
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

/// The same for what is true or not.
func eventually(_ condition: String, _ holds: () async throws -> Bool) async throws {
    try await eventually(condition) { try await holds() ? () : nil }
}
