import Foundation

/// The words that closures of several threads add.
final class Seen: Sendable {
    private let lines = Lines()

    func add(_ word: String) { lines.add(word) }
    var words: Set<String> { lines.all }
}

/// A number that several threads raise.
final class Counter: Sendable {
    private let lines = Lines()

    func add() { lines.add("") }
    var value: Int { lines.count }
}

/// Lines under a lock.
private final class Lines: @unchecked Sendable {
    // Safe to share: every access is under the lock.
    private let lock = NSLock()
    private var lines: [String] = []

    func add(_ line: String) { lock.withLock { lines.append(line) } }
    var all: Set<String> { lock.withLock { Set(lines) } }
    var count: Int { lock.withLock { lines.count } }
}
