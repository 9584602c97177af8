import Foundation

/// A declaration of Apple's frameworks: in the double of AVFoundation, or as a row of the table.
struct AppleDeclaration: Hashable, Comparable, CustomStringConvertible {
    /// `Type.member(label:)`, a type alone, or `Type: Sendable` for a conformance.
    var name: String
    /// `main actor` or `nonisolated`.
    var isolation: String
    /// The platforms that need a newer system than the package, and those that do not have it.
    var platforms: String

    var description: String { "| `\(name)` | \(isolation) | \(platforms) |" }

    static func < (left: Self, right: Self) -> Bool { left.description < right.description }
}

extension AppleDeclaration {
    /// The table, by its columns `member`, `isolation`, `platforms` and `source`.
    static func table() -> [(declaration: AppleDeclaration, source: String)] {
        PackageFile(path: "Tests/AppleDeclarations/declarations.md").lines.compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 4, cells[0].hasPrefix("`") else { return nil }
            return (AppleDeclaration(name: cells[0].filter { $0 != "`" }, isolation: cells[1], platforms: cells[2]), cells[3])
        }
    }

    /// The public declarations of the double, and of Network.
    static func declared() -> [AppleDeclaration] {
        let directories = ["Asset", "Loader", "Player"].map { "Tests/AVFoundationDouble/" + $0 } + ["Tests/AppleDeclarations/Network"]
        // Times, observations and the types of settings are reduced to the parts in use.
        let reduced = ["CMTime.swift", "KeyValueObservation.swift", "ItemSettings.swift"]
        let files = PackageDirectory.files(below: directories, extensions: ["swift"]).filter { file in
            !reduced.contains { file.path.hasSuffix($0) }
        }
        let isolated = files.flatMap(\.codeLines).compactMap { line in
            line.hasPrefix("@MainActor ") ? AppleDeclarationReader.typeName(in: line) : nil
        }
        return files.flatMap { file in
            var reader = AppleDeclarationReader(isolatedTypes: Set(isolated))
            for line in file.codeLines { reader.read(line) }
            return reader.found
        }
    }
}

/// Reads the public declarations of a file in the layout of `swift format`.
struct AppleDeclarationReader {
    private struct Scope {
        var indent: Int
        var name: String
        var isIsolated: Bool
        var isPublicProtocol: Bool
    }

    /// The systems at the package's floor, whose availability says nothing.
    private static let floors = ["iOS": 16.0, "macOS": 13.0, "tvOS": 16.0, "visionOS": 1.0]

    private(set) var found: [AppleDeclaration] = []
    private let isolatedTypes: Set<String>
    private var scopes: [Scope] = []
    private var availability: [String] = []
    private var unfinished = ""

    init(isolatedTypes: Set<String>) { self.isolatedTypes = isolatedTypes }

    /// The name of the type that a line declares or extends, or nil.
    static func typeName(in line: String) -> String? {
        let words = line.split { $0 == " " || $0 == ":" || $0 == "{" }.map(String.init)
        guard let kind = words.firstIndex(where: { ["class", "struct", "enum", "protocol", "extension"].contains($0) }),
            kind + 1 < words.count, ["var", "func", "override"].contains(words[kind + 1]) == false
        else { return nil }
        return String(words[kind + 1].prefix { $0 != "<" })
    }

    mutating func read(_ line: String) {
        let text = unfinished.isEmpty ? line : unfinished + " " + line.trimmingCharacters(in: .whitespaces)
        let code = text.trimmingCharacters(in: .whitespaces)
        if code.isEmpty || code.hasPrefix("//") { return }
        // A parameter list over several lines becomes one.
        if code.filter({ $0 == "(" }).count > code.filter({ $0 == ")" }).count {
            unfinished = text
            return
        }
        unfinished = ""
        let indent = text.prefix { $0 == " " }.count
        scopes.removeAll { $0.indent >= indent }
        if code.hasPrefix("@available(") {
            availability.append(String(code.dropFirst("@available(".count).prefix { $0 != ")" }))
            return
        }
        defer { availability = [] }
        if let type = Self.typeName(in: code) { return readType(type, code, indent) }
        readMember(code, indent)
    }

    private var isolation: String { scopes.last?.isIsolated == true ? "main actor" : "nonisolated" }

    private func isPublic(_ code: String) -> Bool {
        let words = code.split(separator: " ")
        return words.contains("public") || words.contains("open") || scopes.last?.isPublicProtocol == true
    }

    private mutating func readType(_ name: String, _ code: String, _ indent: Int) {
        let isExtension = code.hasPrefix("extension ")
        let full = (scopes.map(\.name) + [name]).joined(separator: ".")
        let isIsolated = isolatedTypes.contains(full)
        if !isExtension, isPublic(code) { add(full, isIsolated ? "main actor" : "nonisolated") }
        let conforms = code.contains("Sendable") && (isExtension || code.contains("class ") || code.contains("protocol "))
        if conforms, isExtension || isPublic(code) { add(full + ": Sendable", "nonisolated") }
        scopes.append(Scope(indent: indent, name: name, isIsolated: isIsolated, isPublicProtocol: code.hasPrefix("public protocol ")))
    }

    private mutating func readMember(_ code: String, _ indent: Int) {
        let words = code.split { " (:<?".contains($0) }.map(String.init)
        let parts = words.prefix { $0 != "{" && $0 != "=" }
        if words.first == "case", let name = words.dropFirst().first, !availability.isEmpty { return add(member(name), "nonisolated") }
        guard let kind = parts.firstIndex(where: { ["var", "let", "func", "init"].contains($0) }) else { return }
        let modifiers = parts[..<kind]
        guard isPublic(code), Set(modifiers).isDisjoint(with: ["override", "package", "private"]) else { return }
        let name = parts[kind] == "init" ? "init" : words[kind + 1]
        let isIsolated = modifiers.contains("nonisolated") ? "nonisolated" : isolation
        let hasParameters = parts[kind] == "init" || parts[kind] == "func"
        add(member(name + (hasParameters ? Self.labels(of: code) : "")), isIsolated)
    }

    private func member(_ name: String) -> String { (scopes.map(\.name) + [name]).joined(separator: ".") }

    private mutating func add(_ name: String, _ isolation: String) {
        found.append(AppleDeclaration(name: name, isolation: isolation, platforms: platforms))
    }

    /// The availability of the pending attributes, without the floors.
    private var platforms: String {
        let parts = availability.flatMap { text -> [String] in
            let words = text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            if words.contains("unavailable") { return words.first == "watchOS" ? [] : words.first.map { ["no " + $0] } ?? [] }
            return words.filter { word in
                let parts = word.split(separator: " ")
                guard parts.count == 2, let floor = Self.floors[String(parts[0])], let version = Double(parts[1]) else { return false }
                return version > floor
            }
        }
        return parts.isEmpty ? "all" : parts.joined(separator: ", ")
    }

    /// The labels of a parameter list: `(to:completionHandler:)`. A type of several protocols is
    /// part of the name.
    private static func labels(of code: String) -> String {
        guard let open = code.firstIndex(of: "(") else { return "()" }
        var depth = 0
        var parameters = [""]
        for character in code[open...].replacing("->", with: "") {
            if "([<".contains(character) { depth += 1 }
            if ")]>".contains(character) { depth -= 1 }
            if depth == 0 { break }
            if character == ",", depth == 1 { parameters.append("") } else { parameters[parameters.count - 1].append(character) }
        }
        let labels = parameters.map { parameter -> String in
            let text = parameter.drop { $0 == "(" || $0 == " " }
            let type = text.drop { $0 != ":" }.dropFirst()
            return text.prefix { $0 != " " && $0 != ":" } + ":" + (type.contains("&") ? "\(type); " : "")
        }
        return labels == [":"] ? "()" : "(\(labels.joined()))".replacing("; )", with: ")")
    }
}
