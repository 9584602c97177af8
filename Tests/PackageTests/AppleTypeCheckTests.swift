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

    @Test func `the type-check for Apple's systems is a stage of the tests`() throws {
        #expect(try Self.text("scripts/test").contains("scripts/typecheck-apple"))
    }

    @Test func `the type-check has the floor of the manifest`() throws {
        #expect(try Self.text("Package.swift").contains(".iOS(.v16)"))
        #expect(try Self.text("scripts/typecheck-apple").contains("apple-ios16.0"))
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
}
