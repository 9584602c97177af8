import Foundation
import Testing

/// The rules of the code base that a machine can check.
struct TidyTests {
    @Test func `the arrows of the module map point down only`() {
        let offenders = PackageDirectory.sources.flatMap { file in
            file.codeLines.compactMap(Self.importedModule)
                .filter { !ModuleMap.mayImport($0, in: file.module) }
                .map { "\(file.path) imports \($0)" }
        }
        #expect(offenders == [])
    }

    @Test func `every module of the sources is on the map`() {
        let unknown = Set(PackageDirectory.sources.map(\.module)).subtracting(ModuleMap.arrows.keys)
        #expect(unknown.sorted() == [])
    }

    @Test func `the modules below the façade import no Foundation`() {
        let offenders = PackageDirectory.sources.filter { ModuleMap.withoutFoundation.contains($0.module) }
            .flatMap { $0.codePlaces { line in Self.importedModule(line)?.hasPrefix("Foundation") == true } }
        #expect(offenders == [])
    }

    @Test func `no shipped module imports a test framework`() {
        let offenders = PackageDirectory.sources.flatMap { file in
            file.codePlaces { ["Testing", "XCTest"].contains(Self.importedModule($0)) }
        }
        #expect(offenders == [])
    }

    @Test func `fields of HTTP messages are named by constants`() throws {
        let file = PackageFile(path: "Sources/SpoolCore/HTTP/HTTPFieldName.swift")
        let names = file.lines.filter { $0.contains("static var") }.compactMap { $0.split(separator: "\"").dropFirst().first }
        #expect(names.count > 40)
        let uses = names.flatMap { ["[\"\($0)\"]", "(\"\($0)\"", " \"\($0)\")", "[\"\($0)\":"] }
        // An origin of a test writes the text of the wire.
        let offenders = PackageDirectory.sources.filter { $0.module != "SpoolTesting" }.flatMap { file in
            file.lines.filter { line in uses.contains { line.contains($0) } }.map { "\(file.path): \($0)" }
        }
        #expect(offenders == [])
    }

    /// Each word with its reason: a simulation must drive time, threads and randomness, and some
    /// names need newer systems than the floor.
    @Test(arguments: [
        ("Task {", "work crosses threads only by a mailbox"),
        ("Task.", "work crosses threads only by a mailbox"),
        (" async ", "async is the façade's"),
        ("await ", "async is the façade's"),
        ("actor ", "one lock or one owning thread"),
        ("Date()", "clocks are injected"),
        ("ContinuousClock", "clocks are injected"),
        (".random(", "randomness is injected"),
        (".shuffled()", "randomness is injected"),
        ("usleep(", "timers are injected"),
        ("nanosleep(", "timers are injected"),
        ("Thread.sleep", "timers are injected"),
        ("Mutex<", "needs a newer system than the floor: Locked"),
        ("Atomic<", "needs a newer system than the floor: Locked"),
        ("InlineArray", "needs a newer system than the floor"),
    ])
    func `the engine uses calls and callbacks only`(word: String, reason: String) {
        let offenders = PackageDirectory.sources.filter { ModuleMap.engine.contains($0.module) }
            .flatMap { $0.codePlaces { Self.contains($0, word: word) } }
        #expect(offenders == [], "\(word): \(reason)")
    }

    /// `guard let … = try? … else` decides what the failure means. A bare `try?` drops it.
    @Test func `shipped code drops no error unseen`() {
        let offenders = PackageDirectory.sources.flatMap {
            $0.codePlaces { line in
                Self.contains(line, word: "try?") && !["guard", "if"].contains { Self.contains(line, word: $0 + " ") }
            }
        }
        #expect(offenders == [])
    }

    @Test func `only the AVFoundation door contains canImport of AVFoundation`() {
        let offenders = PackageDirectory.sources.filter { $0.module != "SpoolAVFoundation" }
            .flatMap { $0.codePlaces { $0.contains("canImport(AVFoundation)") } }
        #expect(offenders == [])
    }

    /// A promise that the compiler cannot check has a comment with its reason, within the three
    /// lines around it.
    @Test(arguments: ["@unchecked Sendable", "nonisolated(unsafe)"])
    func `an unchecked promise has its reason beside it`(promise: String) {
        let offenders = PackageDirectory.sources.flatMap { file in
            file.codeLines.indices.filter { index in
                guard file.codeLines[index].contains(promise) else { return false }
                let around = file.lines[max(0, index - 3)...min(file.lines.count - 1, index + 3)]
                return !around.contains { $0.contains("//") }
            }
            .map { "\(file.path):\($0 + 1)" }
        }
        #expect(offenders == [])
    }

    /// Before iOS 18 the runtime has no metadata for function types with typed throws. One inside
    /// an array, a tuple, an optional or a generic argument does not compile for the floor, and
    /// Linux does not show it.
    @Test func `no function type with typed throws is an element or a generic argument`() {
        let offenders = PackageDirectory.sources.flatMap { file in
            let aliases = file.codeLines.compactMap(Self.aliasOfTypedThrows)
            return file.codePlaces { Self.nestsTypedThrows($0, aliases: aliases) }
        }
        #expect(offenders == [])
    }

    @Test(arguments: [
        ("let rules: [(name: String, body: Rule)] = []", true),
        ("typealias Open = (Int) throws(SystemError) -> Void", false),
        ("let rules: [(name: String, body: () throws(SystemError) -> Void)] = []", true),
        ("let waiting: Queue<() throws(StoreError) -> Int>", true),
        ("var body: (() throws(StoreError) -> Int)?", true),
        ("func run<E: Error>(_ body: @escaping () throws(E) -> Int) throws(E) -> Int {", false),
        ("{ [self] () throws(StoreError) -> [Int]? in try store.list() }", false),
    ])
    func `a nested function type with typed throws is recognised`(line: String, isNested: Bool) {
        #expect(Self.nestsTypedThrows(line, aliases: ["Rule"]) == isNested)
    }

    @Test func `the tests use only declarations that an app or another module can use`() {
        let offenders = PackageDirectory.allSwift.flatMap { $0.codePlaces { $0.contains("@test" + "able") } }
        #expect(offenders == [])
    }

    /// All tests of a run share the cores, so the time of one of them means little. A limit is
    /// there for hangs only, and every limit is the same.
    @Test func `every time limit of a test is twenty minutes, which only a hang takes`() {
        let limit = ".time" + "Limit("
        let offenders = PackageDirectory.allSwift.flatMap { file in
            file.codePlaces { $0.contains(limit) && !$0.contains(limit + ".minutes(20))") }
        }
        #expect(offenders == [])
    }

    /// Compiler output had been committed there once.
    @Test func `the root of the package has its known files and directories only`() throws {
        let known: Set = [
            "ARCHITECTURE.md", "Benchmarks", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "E2E", "Examples", "LICENSE",
            "Package.swift", "README.md", "SECURITY.md", "Sources", "Tests", "Tools", "deploy", "docs", "packaging", "scripts", "untried",
        ]
        let names = try FileManager.default.contentsOfDirectory(atPath: PackageDirectory.url.path)
        // Tools keep their own files there under names with a dot. Git ignores the others.
        #expect(names.filter { !$0.hasPrefix(".") && !known.contains($0) } == [])
    }

    @Test func `no text contains a note for later work or the path of one machine`() {
        let forbidden = ["TO" + "DO", "FIX" + "ME", "/wo" + "rk/", "/ro" + "ot/", "/ho" + "me/", "/Us" + "ers/"]
        let offenders = PackageDirectory.allText.flatMap { file in
            file.linePlaces(where: { line in forbidden.contains { line.contains($0) } })
        }
        #expect(offenders == [])
    }

    @Test func `no Swift file is longer than 700 lines`() {
        let offenders = PackageDirectory.allSwift.filter { $0.lines.count > 700 }.map { "\($0.path): \($0.lines.count)" }
        #expect(offenders == [])
    }

    @Test func `each source file explains its purpose within its first screen`() {
        let screenLines = 40
        let offenders = PackageDirectory.sources
            .filter { file in file.codeLines.contains(where: Self.declaresSomething) }
            .filter { file in !file.lines.prefix(screenLines).contains(where: Self.isProse) }
        #expect(offenders.map(\.path) == [])
    }

    // MARK: Reading Swift by line

    /// The name of an alias for a function type with typed throws.
    private static func aliasOfTypedThrows(_ line: String) -> String? {
        guard contains(line, word: "typealias") else { return nil }
        return line.firstMatch(of: /typealias ([A-Za-z]+) = .*throws\([A-Za-z]+\) *->/).map { String($0.1) }
    }

    /// Whether the line contains a function type with typed throws inside brackets or as an
    /// optional.
    private static func nestsTypedThrows(_ line: String, aliases: [String]) -> Bool {
        // Most lines contain neither. A regular expression costs a thousand times as much as this
        // check.
        guard (["throws("] + aliases).contains(where: { line.contains($0) }) else { return false }
        if line.contains(/\(\([^()]*\) *throws\([A-Za-z]+\) *-> *[^()]*\)\?/) { return true }
        let places =
            line.matches(of: /throws\([A-Za-z]+\) *->/).map(\.range.lowerBound)
            + line.matches(of: /\b[A-Z][A-Za-z]+\b/).filter { aliases.contains(String($0.output)) }.map(\.range.lowerBound)
        return places.contains { place in
            var open = 0
            for character in line[..<place] {
                if character == "[" || character == "<" { open += 1 }
                if character == "]" || (character == ">" && open > 0) { open -= 1 }
            }
            return open > 0
        }
    }

    /// The module of an import line with any access level and attributes.
    private static func importedModule(_ line: String) -> String? {
        let words = line.split(separator: " ")
        guard let index = words.firstIndex(of: "import"), index + 1 < words.count else { return nil }
        guard words[..<index].allSatisfy({ $0.hasPrefix("@") || ["package", "public", "internal", "private", "fileprivate"].contains($0) })
        else { return nil }
        // `import struct Foundation.Data` names a declaration.
        let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "func", "typealias", "let", "var"]
        let name = kinds.contains(words[index + 1]) && index + 2 < words.count ? words[index + 2] : words[index + 1]
        return name.split(separator: ".").first.map(String.init)
    }

    /// Whether the line contains `word`, not as the end of a longer name.
    private static func contains(_ line: String, word: String) -> Bool {
        var rest = line[...]
        while let range = rest.firstRange(of: word) {
            let before = range.lowerBound == line.startIndex ? " " : line[line.index(before: range.lowerBound)]
            let startsAName = word.first?.isLetter == true && (before.isLetter || before.isNumber || before == "_")
            if !startsAName { return true }
            rest = rest[range.upperBound...]
        }
        return false
    }

    /// Whether the line is a doc comment, or a comment at the margin as at the start of an
    /// extension's file.
    private static func isProse(_ line: Substring) -> Bool {
        line.contains("///") || (line.hasPrefix("// ") && !line.hasPrefix("// MARK"))
    }

    private static func declaresSomething(_ line: String) -> Bool {
        line.split(separator: " ").contains {
            ["struct", "class", "enum", "protocol", "func", "extension", "let", "var", "actor", "typealias"].contains($0)
        }
    }
}
