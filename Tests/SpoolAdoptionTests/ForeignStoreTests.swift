import Spool
import SpoolAdoption
import SpoolCore
import Testing

/// The parts of resources that hostile indexes list. The work is linear in the index.
@Suite(.timeLimit(.minutes(20))) struct ForeignStoreTests {
    /// An archive of KTVHTTPCache in XML. Each of `units` resources shares one list of items.
    private static func archive(_ items: [(path: String, offset: Int)], length: Int, units: Int = 1) -> [UInt8] {
        let dictionary = { (members: [(String, String)]) in
            "<dict>" + members.map { "<key>\($0.0)</key>\($0.1)" }.joined() + "</dict>"
        }
        let reference = { (number: Int) in "<dict><key>CF$UID</key><integer>\(number)</integer></dict>" }
        let list = { (first: Int, count: Int) in
            dictionary([("NS.objects", "<array>" + (first..<first + count).map(reference).joined() + "</array>")])
        }
        let unit = dictionary([
            ("URLString", "<string>http://a.example/x.mp4</string>"), ("totalContentLength", "<integer>\(length)</integer>"),
            ("unitItems", reference(2)),
        ])
        let objects =
            ["<string>$null</string>", list(3 + items.count, units), list(3, items.count)]
            + items.map { item in
                let path = "<string>KTVHTTPCache/u/\(item.path)</string>"
                return dictionary([("relativePath", path), ("offset", "<integer>\(item.offset)</integer>")])
            }
            + [String](repeating: unit, count: units)
        let root = dictionary([
            ("$archiver", "<string>NSKeyedArchiver</string>"), ("$top", dictionary([("root", reference(1))])),
            ("$objects", "<array>" + objects.joined() + "</array>"),
        ])
        return Array("<plist>\(root)</plist>".utf8)
    }

    private static func read(
        _ archive: [UInt8], _ files: [String: Int64], limits: AdoptionLimits = AdoptionLimits()
    ) throws -> ForeignStore {
        try KTVHTTPCacheStore.read(archive, prefix: "", files: files, limits: limits)
    }

    @Test func `each of many files that overlap all others is compared once with the union of those before it`() throws {
        let count = 4_000
        let items = (0..<count).map { (path: "f\($0)", offset: $0) }
        let files = Dictionary(uniqueKeysWithValues: items.map { ("u/\($0.path)", Int64(count)) })
        let resource = try #require(try Self.read(Self.archive(items, length: 2 * count), files).resources.first)
        #expect(resource.parts.count == count && resource.bytes == Int64(2 * count - 1))
        #expect(resource.twins.count == count - 1)
        // The last file has the last byte alone, and all others together have the rest.
        let last = try #require(resource.twins.last)
        #expect(last.range == ByteRange(Int64(count - 1), Int64(2 * count - 2)))
        #expect(ByteRangeSet(resource.parts(in: last.range).map(\.range)).ranges == [last.range])
    }

    @Test func `the parts in a range are cut to it, with their places in their files`() throws {
        let items = [(path: "a", offset: 0), (path: "b", offset: 5), (path: "c", offset: 30)]
        let resource = try #require(
            try Self.read(Self.archive(items, length: 50), ["u/a": 10, "u/b": 10, "u/c": 20]).resources.first)
        let parts = resource.parts(in: try #require(ByteRange(8, 40)))
        #expect(parts.map(\.offset) == [8, 5, 0])
        #expect(parts.map(\.range) == [ByteRange(8, 10), ByteRange(10, 15), ByteRange(30, 40)])
        #expect(resource.parts(in: try #require(ByteRange(15, 30))).isEmpty)
    }

    @Test func `a file that two entries have at different places is damage, and a repeated entry is not`() throws {
        let refused = try Self.read(Self.archive([(path: "a", offset: 0), (path: "a", offset: 1)], length: 50), ["u/a": 10])
        #expect(refused.resources.isEmpty && refused.refusals.map(\.isDamaged) == [true])
        let repeated = try Self.read(Self.archive([(path: "a", offset: 3), (path: "a", offset: 3)], length: 50), ["u/a": 10])
        #expect(repeated.resources.first?.bytes == 10 && repeated.resources.first?.twins.isEmpty == true)
    }

    @Test func `resources that share one long list are refused beyond the bound of all lists`() throws {
        let archive = Self.archive([(path: "a", offset: 0), (path: "b", offset: 0)], length: 50, units: 50)
        var limits = AdoptionLimits()
        limits.members = 100
        #expect(try Self.read(archive, [:], limits: limits).resources.count == 50)
        limits.members = 99
        #expect(throws: ParseError.self) { try Self.read(archive, [:], limits: limits) }
    }
}
