import Foundation
import Spool
import SpoolAdoption
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Feeds the readers of other caches' indexes with broken files. No reader traps, and none names
/// bytes that the files do not have.
@Suite(.timeLimit(.minutes(20))) struct AdoptionFuzzTests {
    /// The number of derived files of each index. `SPOOL_FUZZ` multiplies it.
    private static let rounds = 400 * max(1, ProcessInfo.processInfo.environment["SPOOL_FUZZ"].flatMap { Int($0) } ?? 1)
    private static let fixtures = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Fixtures/adoption")

    struct Index: Sendable, CustomTestStringConvertible {
        var directory: String
        var path: String
        var testDescription: String { "\(directory)/\(path)" }
    }

    static let indexes: [Index] = ["ktv", "vi", "gs", "files"].flatMap { directory in
        sizes(of: directory).keys.sorted().filter { path in
            [".archive", ".mt_cfg", ".cfg", ".tsv"].contains { path.hasSuffix($0) }
        }.map { Index(directory: directory, path: $0) }
    }

    private static func sizes(of directory: String) -> [String: Int64] {
        var sizes: [String: Int64] = [:]
        let root = fixtures.appendingPathComponent(directory).path
        for case let path as String in FileManager.default.enumerator(atPath: root) ?? FileManager.DirectoryEnumerator() {
            let attributes = try? FileManager.default.attributesOfItem(atPath: root + "/" + path)
            guard attributes?[.type] as? FileAttributeType == .typeRegular else { continue }
            sizes[path] = (attributes?[.size] as? NSNumber)?.int64Value
        }
        return sizes
    }

    @Test func `whole indexes of each kind are read`() throws {
        let map = try AdoptionMap([UInt8](Data(contentsOf: Self.fixtures.appendingPathComponent("urls.txt"))), limits: AdoptionLimits())
        let read = try Dictionary(grouping: Self.indexes, by: \.directory).mapValues { indexes in
            try indexes.reduce(0) { count, index in
                let bytes = [UInt8](try Data(contentsOf: Self.fixtures.appendingPathComponent(index.directory + "/" + index.path)))
                let resources = try? Self.read(bytes, index, map, Self.sizes(of: index.directory))
                return count + (resources?.count ?? 0)
            }
        }
        #expect(read == ["ktv": 6, "vi": 4, "gs": 3, "files": 3])
    }

    @Test(arguments: indexes)
    func `a broken index names only bytes that its files have`(index: Index) throws {
        let seed = Seeds.list(count: 1)[0]
        let random = SeededRandom(seed: seed)
        let files = Self.sizes(of: index.directory)
        let original = [UInt8](try Data(contentsOf: Self.fixtures.appendingPathComponent(index.directory + "/" + index.path)))
        let urls = [UInt8](try Data(contentsOf: Self.fixtures.appendingPathComponent("urls.txt")))
        let map = try AdoptionMap(urls, limits: AdoptionLimits())
        for round in 0..<Self.rounds {
            var bytes = original
            for _ in 0...random.next(below: 4) { Self.change(&bytes, random) }
            // Files may have any size. An index that is refused as a whole names nothing.
            let files = files.mapValues { max(0, $0 - 500) + Int64(random.next(below: 4)) * 500 }
            guard let resources = try? Self.read(bytes, index, map, files) else { continue }
            for resource in resources { #expect(Self.isSound(resource, files), "seed \(seed), round \(round): \(resource)") }
        }
    }

    private static func read(_ bytes: [UInt8], _ index: Index, _ map: AdoptionMap, _ files: [String: Int64]) throws -> [ForeignResource] {
        let limits = AdoptionLimits()
        switch index.directory {
        case "ktv": return try KTVHTTPCacheStore.read(bytes, prefix: "KTVHTTPCache/", files: files, limits: limits).resources
        case "vi": return try [VIMediaCacheStore.read(bytes, path: index.path, map: map, files: files, limits: limits)]
        case "gs": return try [GSPlayerStore.read(bytes, path: index.path, map: map, files: files, limits: limits)]
        default: return try AdoptionMap(bytes, limits: limits).store(files: files).resources
        }
    }

    /// Whether the parts lie within the resource and its files, in order and without overlap.
    private static func isSound(_ resource: ForeignResource, _ files: [String: Int64]) -> Bool {
        var end: Int64 = 0
        for part in resource.parts {
            guard part.range.lowerBound >= end, part.range.upperBound <= resource.length, let size = files[part.path], part.offset >= 0,
                part.offset + part.range.count <= size
            else { return false }
            end = part.range.upperBound
        }
        return resource.twins.allSatisfy { twin in
            let parts = resource.parts(in: twin.range)
            return twin.offset + twin.range.count <= files[twin.path] ?? 0 && parts.first?.range.lowerBound == twin.range.lowerBound
                && parts.last?.range.upperBound == twin.range.upperBound
        }
    }

    private static func change(_ bytes: inout [UInt8], _ random: SeededRandom) {
        // The trailer of a property list is at its end.
        let isAtEnd = random.next(below: 4) == 0
        let place = isAtEnd ? max(0, bytes.count - 1 - Int(random.next(below: 60))) : Int(random.next(below: UInt64(bytes.count + 1)))
        switch random.next(below: 7) {
        case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8(random.next(below: 8))
        case 1 where place < bytes.count: bytes[place] = UInt8(random.next(below: 256))
        case 2 where place < bytes.count: bytes.removeSubrange(place..<min(bytes.count, place + 4))
        case 3 where place < bytes.count: bytes.insert(contentsOf: bytes[place...].prefix(32), at: place)
        case 4 where random.next(below: 8) == 0: bytes.removeSubrange(min(place, bytes.count)...)
        case 5 where place < bytes.count:
            let extreme: UInt8 = random.next(below: 2) == 0 ? 0xFF : 0
            for index in place..<min(bytes.count, place + 1 + Int(random.next(below: 8))) { bytes[index] = extreme }
        default: bytes.insert(UInt8(random.next(below: 256)), at: min(place, bytes.count))
        }
    }
}
