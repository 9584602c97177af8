import Testing

/// The shape of the package: which files need each other, and what an app compiles and sees.
struct ShapeTests {
    /// The bound is that of the house. The circle of an engine alone is smaller: a session and the
    /// parts that drive it.
    @Test func `no more than 12 files of Spool need each other`() throws {
        let circle = try #require(FileGraph(PackageDirectory.files(below: ["Sources/Spool"], extensions: ["swift"])).circles.first)
        #expect(circle.count <= 12, "\(circle)")
    }

    @Test func `no more than 5 files of the engine need each other`() throws {
        let circle = try #require(FileGraph(PackageDirectory.files(below: ["Sources/Spool/Engine"], extensions: ["swift"])).circles.first)
        #expect(circle.count <= 5, "\(circle)")
    }

    @Test func `an app with players compiles neither pages nor tiers nor adoption, and at most 65 300 lines`() throws {
        let modules = try Manifest.dump(.apple).closure(of: "SpoolAVFoundation")
        #expect(modules.contains("SpoolURLSession"))
        #expect(modules.isDisjoint(with: ["SpoolDashboard", "SpoolTiers", "SpoolAdoption", "SpoolCommand", "SpoolTesting"]))
        let files = modules.flatMap { PackageDirectory.files(below: ["Sources/\($0)"], extensions: ["swift"]) }
        let lines = files.reduce(0) { $0 + PlatformLines.count($1) }
        #expect(lines > 10_000 && lines <= Self.appLines, "\(lines)")
    }

    /// The most lines that an app with players compiles for iOS. The aim of the house is 60 000.
    private static let appLines = 65_300

    /// The lists of `scripts/api`, with the types of all modules that `Spool` exports. The numbers
    /// are those of today: a declaration that is added has to replace one.
    @Test func `an app sees no more public types and members than today`() {
        let lines = ["Spool", "SpoolAVFoundation"].flatMap { PackageFile(path: "docs/api/\($0).txt").lines }
        let kinds = ["class ", "final class ", "struct ", "enum ", "protocol "]
        func isType(_ line: Substring) -> Bool { kinds.contains { line.hasPrefix($0) } }
        // `protocol LogSink : Sendable` has a colon, too.
        let members = lines.filter { !isType($0) }.compactMap { line in line.firstRange(of: ": ").map { line[$0.upperBound...] } }
            .filter { !$0.contains(" conforms to ") }
        let types = lines.filter(isType).count + members.filter(isType).count
        #expect(types > 50 && types <= 114, "\(types)")
        #expect(members.filter { !isType($0) }.count <= 759, "\(members.filter { !isType($0) }.count)")
    }
}
