import Foundation
import Testing

/// The declarations of Apple's frameworks that stand for the SDK on Linux, against the table of
/// them (`Tests/AppleDeclarations/declarations.md`).
struct AppleDeclarationTests {
    @Test func `the double has the isolation and the availability of the table, and no declaration without a row`() {
        let declared = Set(AppleDeclaration.declared()), listed = Set(AppleDeclaration.table().map(\.declaration))
        #expect(declared.count > 150)
        #expect(declared.subtracting(listed).sorted() == [], "no such row in the table")
        #expect(listed.subtracting(declared).sorted() == [], "no such declaration in the double")
    }

    @Test func `each row of the table names its source`() {
        #expect(AppleDeclaration.table().filter { !["A", "B", "C", "D", "–"].contains($0.source) }.map(\.declaration) == [])
    }

    /// Two errors that the double hid for a long time: a nonisolated override that used the main
    /// actor, and a property that visionOS does not have.
    @Test func `the reader of declarations finds isolation, conformances and availability`() {
        var reader = AppleDeclarationReader(isolatedTypes: ["Player"])
        let file = """
            @MainActor open class Player: NSObject {
                @available(visionOS, unavailable)
                nonisolated open var isExternal: Bool { false }
                open func swap(
                    _ item: Item, after other: Item?
                ) {}
                package func own() {}
                public enum Status: Int, Sendable {
                    case ready = 0
                }
            }
            @available(iOS 17, macOS 13, tvOS 17, visionOS 1, *)
            extension Loader: @unchecked Sendable {}
            """
        for line in file.split(separator: "\n") { reader.read(String(line)) }
        #expect(
            reader.found.map(\.description) == [
                "| `Player` | main actor | all |",
                "| `Player.isExternal` | nonisolated | no visionOS |",
                "| `Player.swap(_:after:)` | main actor | all |",
                "| `Player.Status` | nonisolated | all |",
                "| `Loader: Sendable` | nonisolated | iOS 17, tvOS 17 |",
            ])
    }
}
