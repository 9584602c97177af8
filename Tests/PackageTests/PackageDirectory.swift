import Foundation

/// The files of the package under test.
enum PackageDirectory {
    /// The directory that holds `Package.swift`: two above the one of this file.
    static let url = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The files below the named directories whose extension is one of `extensions`, sorted by path
    /// from the package's directory.
    static func files(below directories: [String], extensions: Set<String>) -> [PackageFile] {
        directories.flatMap { directory -> [PackageFile] in
            let names =
                FileManager.default.enumerator(atPath: url.appendingPathComponent(directory).path)?.compactMap { $0 as? String } ?? []
            return names.sorted()
                .filter { extensions.contains(URL(fileURLWithPath: $0).pathExtension) }
                .map { PackageFile(path: directory + "/" + $0) }
        }
    }

    /// The Swift files of the shipped modules, of the benchmarks and of the tests.
    static let sources = files(below: ["Sources"], extensions: ["swift"])
    static let allSwift = files(below: ["Sources", "Tests", "Benchmarks"], extensions: ["swift"])

    /// Every text for readers: code, scripts and pages.
    static let allText: [PackageFile] =
        files(below: ["Sources", "Tests", "Benchmarks"], extensions: ["swift", "c", "h", "md", "modulemap"])
        + files(below: ["scripts", ".ci", "E2E"], extensions: ["", "sh", "py", "html", "md"])
        + files(below: ["docs"], extensions: ["md"])
        + ["Package.swift", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(PackageFile.init)
}

/// One text file of the package.
struct PackageFile: CustomStringConvertible, Sendable {
    /// The path from the package's directory, with slashes.
    let path: String
    let lines: [Substring]

    init(path: String) {
        self.path = path
        let data = FileManager.default.contents(atPath: PackageDirectory.url.appendingPathComponent(path).path) ?? Data()
        lines = String(decoding: data, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        codeLines = lines.map(Self.code)
    }

    var description: String { path }

    /// The module of a file below `Sources`.
    var module: String { String(path.split(separator: "/")[1]) }

    /// The lines without comments and without the contents of string literals, so that words in
    /// prose do not count as code.
    ///
    /// Good enough for a search: a multi-line string literal counts as code.
    let codeLines: [String]

    private static func code(of line: Substring) -> String {
        var code = ""
        var isInString = false
        var previous: Character = " "
        for character in line {
            if character == "\"" && previous != "\\" {
                isInString.toggle()
            } else if !isInString {
                if character == "/" && previous == "/" { return String(code.dropLast()) }
                code.append(character)
            }
            previous = character
        }
        return code
    }

    /// `path:line` of each line of code that `matches`, for a failure's message.
    func codePlaces(where matches: (String) -> Bool) -> [String] {
        codeLines.enumerated().filter { matches($0.element) }.map { "\(path):\($0.offset + 1)" }
    }

    /// `path:line` of each line, comments included, that `matches`.
    func linePlaces(where matches: (Substring) -> Bool) -> [String] {
        lines.enumerated().filter { matches($0.element) }.map { "\(path):\($0.offset + 1)" }
    }
}
