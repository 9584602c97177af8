import Foundation
import Testing

/// The type-check for Apple's systems on Linux (`scripts/typecheck-apple`), which is a stage of
/// `scripts/test`.
struct AppleTypeCheckTests {
    private static func text(_ path: String) throws -> String {
        try String(contentsOf: PackageDirectory.url.appendingPathComponent(path), encoding: .utf8)
    }

    @Test func `the type-check for Apple's systems covers every module`() throws {
        let words = try Set(Self.text("scripts/typecheck-apple").split { !$0.isLetter && !$0.isNumber }.map(String.init))
        #expect(Set(PackageDirectory.sources.map(\.module)).subtracting(words).sorted() == [])
    }

    /// No other check on Linux compiles them, so they would go out of date with the API.
    @Test func `the type-check for Apple's systems covers every example that needs them`() throws {
        let lines = try Self.text("Examples/Package.swift").split(separator: "\n")
        let examples = lines.flatMap { $0.split(separator: "example(\"").dropFirst().compactMap { $0.split(separator: "\"").first } }
        #expect(examples.count == 5)
        let words = try Set(Self.text("scripts/typecheck-apple").split { !$0.isLetter && !$0.isNumber })
        #expect(Set(examples).subtracting(words).sorted() == [])
    }

    @Test func `the type-check for Apple's systems is a stage of the tests`() throws {
        #expect(try Self.text("scripts/test").contains("scripts/typecheck-apple"))
    }

    @Test func `the type-check has every platform of the manifest, at its floor`() throws {
        let (manifest, script) = try (Self.text("Package.swift"), Self.text("scripts/typecheck-apple"))
        let floors = ["iOS": ("ios", ".v16"), "tvOS": ("tvos", ".v16"), "visionOS": ("xros", ".v1"), "macOS": ("macosx", ".v13")]
        #expect(manifest.contains("platforms: [.iOS(.v16), .macOS(.v13), .tvOS(.v16), .visionOS(.v1)]"))
        for (platform, (target, version)) in floors {
            #expect(manifest.contains(".\(platform)(\(version))"))
            #expect(script.contains("-apple-\(target)\(version.dropFirst(2)).0"))
        }
    }

    /// A declaration without an implementation would seal nothing. So the declarations have a
    /// search path of their own, and the build on Linux does not see them.
    @Test func `on Linux the store seals with OpenSSL, and no target sees the declarations of Apple's frameworks`() throws {
        #if os(Linux)
        #if canImport(CryptoKit) || canImport(Security) || canImport(Combine) || canImport(Network) || canImport(UniformTypeIdentifiers)
        Issue.record("a module of Tests/AppleDeclarations is visible to the build")
        #endif
        #endif
        let manifest = try Self.text("Package.swift")
        #expect(!manifest.contains("AppleDeclarations"))
        #expect(manifest.contains("let cryptography: [Target.Dependency] = [\"COpenSSL\"]"))
    }

    /// Of two overloads, the compiler takes the one with fewer parameters, and leaves out the fields
    /// and cookies that the other one sends. On Linux it sees only one of them.
    @Test func `a type has one call of a name that takes a URL`() throws {
        let pattern = /\b(?:extension|class|struct|protocol|enum) (\w+)|\bpublic (?:static )?func (\w+)\(\s*(\w+)(?: \w+)?: URL\b/
        var calls: [String: [String]] = [:]
        for file in PackageDirectory.sources {
            var type = ""
            for match in file.codeLines.joined(separator: "\n").matches(of: pattern) {
                if let name = match.1 { type = String(name) }
                if let name = match.2, let label = match.3 { calls["\(type).\(name)(\(label):)", default: []].append(file.path) }
            }
        }
        #expect(calls.count > 10)
        #expect(calls["MediaCache.preload(_:)"]?.count == 1)
        #expect(calls.filter { $0.value.count > 1 } == [:])
    }
}
