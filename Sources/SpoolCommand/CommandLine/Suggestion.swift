/// Finds the word that a mistyped one probably stands for.
package enum Suggestion {
    /// Returns the nearest candidate, or nil when none is near.
    ///
    /// Near means one edit for words of up to four letters, two for longer ones, or a candidate
    /// that begins with a word of at least three letters.
    package static func nearest(to word: String, among candidates: [String]) -> String? {
        let limit = word.count <= 4 ? 1 : 2
        // The first of equally near candidates, so the result is the same in each run.
        let best = candidates.map { ($0, distance(word, $0, limit: limit)) }.min { $0.1 < $1.1 }
        if let best, best.1 <= limit { return best.0 }
        return word.count >= 3 ? candidates.first { $0.hasPrefix(word) } : nil
    }

    /// Returns the text that a message adds for a mistyped word, or an empty text.
    static func note(for word: String, among candidates: [String], prefix: String = "") -> String {
        nearest(to: word, among: candidates).map { " (did you mean '\(prefix)\($0)'?)" } ?? ""
    }

    /// The longest word that is compared, in characters. No command or flag is longer.
    private static let maxLength = 40

    /// Returns the number of edits between two words, where a swap of neighbours is one edit, as
    /// an insertion, a removal and a replacement are. The result is above `limit` for long words.
    private static func distance(_ first: String, _ second: String, limit: Int) -> Int {
        let (a, b) = (Array(first), Array(second))
        guard a.count <= maxLength, b.count <= maxLength, abs(a.count - b.count) <= limit else { return limit + 1 }
        var rows = [Array(0...b.count)]
        for i in 1..<max(1, a.count + 1) {
            var row = [i] + [Int](repeating: 0, count: b.count)
            for j in 1..<max(1, b.count + 1) {
                let isSame = a[i - 1] == b[j - 1]
                row[j] = min(rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + (isSame ? 0 : 1))
                if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] { row[j] = min(row[j], rows[i - 2][j - 2] + 1) }
            }
            rows.append(row)
        }
        return rows[a.count][b.count]
    }
}
