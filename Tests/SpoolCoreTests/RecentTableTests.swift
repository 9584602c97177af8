import SpoolCore
import Testing

@Suite(.timeLimit(.minutes(20))) struct RecentTableTests {
    @Test func `a table drops the entries that were made first, whatever was changed or removed`() {
        var random = SeededGenerator.fromEnvironment()
        var table = RecentTable<Int, Int>(limit: 5)
        var model: [(key: Int, value: Int)] = []
        for value in 0..<5_000 {
            let key = Int.random(in: 0..<12, using: &random)
            let known = model.firstIndex { $0.key == key }
            if Int.random(in: 0..<3, using: &random) == 0 {
                table[key] = nil
                if let known { model.remove(at: known) }
            } else {
                table[key] = value
                if let known { model[known].value = value } else { model.append((key, value)) }
                if model.count > 5 { model.removeFirst() }
            }
            for key in 0..<12 { #expect(table[key] == model.first { $0.key == key }?.value) }
        }
    }
}
