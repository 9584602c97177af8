/// The lines of a file that a compiler for iOS reads.
enum PlatformLines {
    /// Returns the number of lines outside of `#if` branches for other platforms.
    static func count(_ file: PackageFile) -> Int {
        // One entry for each open `#if`: whether this branch counts, and whether one did before.
        var open: [(counts: Bool, hasCounted: Bool)] = []
        var count = 0
        // The text behind the last line end is no line.
        for line in file.lines.dropLast() {
            let words = line.split(whereSeparator: \.isWhitespace)
            switch words.first {
            case "#if":
                let counts = holds(words.dropFirst().joined(separator: " "))
                open.append((counts, counts))
            case "#elseif":
                guard let last = open.popLast() else { break }
                let counts = !last.hasCounted && holds(words.dropFirst().joined(separator: " "))
                open.append((counts, counts || last.hasCounted))
            case "#else":
                guard let last = open.popLast() else { break }
                open.append((!last.hasCounted, true))
            case "#endif": _ = open.popLast()
            default: if open.allSatisfy(\.counts) { count += 1 }
            }
        }
        return count
    }

    /// Whether a condition holds on iOS, for an app that is built for release.
    private static func holds(_ condition: String) -> Bool {
        condition.split(separator: "||").contains { alternative in
            alternative.split(separator: "&&").allSatisfy { term in
                let term = term.filter { $0 != " " }
                return term.hasPrefix("!") ? !isTrue(String(term.dropFirst())) : isTrue(String(term))
            }
        }
    }

    private static func isTrue(_ term: String) -> Bool {
        if term.hasPrefix("os(") { return term == "os(iOS)" }
        if term.hasPrefix("canImport(") { return term != "canImport(FoundationNetworking)" }
        return term.hasPrefix("compiler(")
    }
}
