/// Which files of a directory name types of which others.
///
/// A type belongs to the file that declares it at file scope. Names in comments and texts do not
/// count. An `extension` names its type, and declares nothing.
struct FileGraph {
    private let paths: [String]
    /// The files whose types a file names, by its number.
    private let named: [Set<Int>]

    init(_ files: [PackageFile]) {
        paths = files.map(\.path)
        var owners: [Substring: [Int]] = [:]
        for (number, file) in files.enumerated() {
            for line in file.codeLines { if let name = Self.declared(line) { owners[name, default: []].append(number) } }
        }
        named = files.enumerated().map { number, file in
            let words = Set(file.codeLines.flatMap { $0.split { !$0.isLetter && !$0.isNumber && $0 != "_" } })
            return Set(words.flatMap { owners[$0] ?? [] }).subtracting([number])
        }
    }

    /// The name of the type that a line declares at file scope, or nil.
    private static func declared(_ line: String) -> Substring? {
        let words = line.split(whereSeparator: \.isWhitespace)
        guard line.first?.isWhitespace == false, words.first != "extension",
            let keyword = words.firstIndex(where: { ["struct", "class", "enum", "protocol", "typealias"].contains($0) }),
            words[..<keyword].allSatisfy({ ["public", "package", "private", "fileprivate", "final", "indirect"].contains($0) }),
            keyword + 1 < words.count
        else { return nil }
        return words[keyword + 1].prefix { $0.isLetter || $0.isNumber || $0 == "_" }
    }

    /// The files that need each other, directly or not, the largest circle first.
    var circles: [[String]] {
        let reached = paths.indices.map { start in
            var found: Set<Int> = []
            var open = Array(named[start])
            while let next = open.popLast() { if found.insert(next).inserted { open += named[next] } }
            return found
        }
        var seen: Set<Int> = []
        var circles: [[String]] = []
        for file in paths.indices where !seen.contains(file) && reached[file].contains(file) {
            let circle = paths.indices.filter { reached[file].contains($0) && reached[$0].contains(file) }
            seen.formUnion(circle)
            circles.append(circle.map { paths[$0] })
        }
        return circles.sorted { $0.count > $1.count }
    }
}
