import SpoolCore
import SpoolDASH
import SpoolManifests
import Testing

/// Leaves renditions out of whole and of broken manifests, as the door does without a network.
@Suite(.timeLimit(.minutes(20))) struct OfferFuzzTests {
    private static let url = "https://origin.example/a/main?x=1"
    private let reader = ManifestReader(formats: [DASHFormat()])

    /// The manifest with the renditions of `subset` alone.
    private func offered(_ subset: Set<Int>, of outline: StreamOutline, _ bytes: [UInt8]) throws -> [UInt8] {
        var contents = try #require(try reader.contents(of: bytes, at: Self.url))
        contents.offer(subset, of: outline)
        return try reader.rewritten(bytes, contents) { _ in nil }
    }

    private func outline(_ bytes: [UInt8]) -> StreamOutline? {
        guard let outline = try? StreamOutline.read(bytes, at: Self.url, formats: [DASHFormat()]),
            (try? reader.contents(of: bytes, at: Self.url)) != nil
        else { return nil }
        return outline
    }

    /// Every subset of the first renditions, with all of the others or none of them.
    private static func subsets(_ count: Int) -> [Set<Int>] {
        let most = min(count, 4)
        return (0..<1 << most).flatMap { bits in
            let chosen = Set((0..<most).filter { bits & 1 << $0 != 0 })
            return count > most ? [chosen, chosen.union(most..<count)] : [chosen]
        }
    }

    @Test(arguments: ["manifests", "mpds"])
    func `a manifest with any subset of its renditions offers exactly these`(corpus: String) throws {
        var count = 0
        for bytes in try Fuzzer(corpus).originals {
            guard let outline = outline(bytes), outline.renditions.contains(where: { !$0.places.isEmpty }) else { continue }
            // A playlist without any of its renditions lists none, as a media playlist does.
            for subset in Self.subsets(outline.renditions.count) where !subset.isEmpty {
                let result = try #require(
                    try StreamOutline.read(offered(subset, of: outline, bytes), at: Self.url, formats: [DASHFormat()]))
                let wanted = subset.sorted().map { outline.renditions[$0] }
                let comment: Comment = "\(subset) of \(String(decoding: bytes, as: UTF8.self))"
                #expect(result.renditions.map(\.playlist) == wanted.map(\.playlist), comment)
                #expect(result.renditions.map(\.parts) == wanted.map(\.parts), comment)
                count += 1
            }
        }
        #expect(count > 8)
    }

    @Test(arguments: ["manifests", "mpds"])
    func `a broken manifest with any subset of its renditions keeps its other bytes`(corpus: String) throws {
        let fuzzer = try Fuzzer(corpus, rounds: 2500)
        try fuzzer.run { (bytes: [UInt8]) in
            guard let outline = outline(bytes), let edits = try reader.contents(of: bytes, at: Self.url)?.edits else { return }
            for subset in Self.subsets(outline.renditions.count) {
                do {
                    let result = try offered(subset, of: outline, bytes)
                    if edits.isEmpty, !Self.isRest(result, of: bytes) { Issue.record("other bytes; seed \(fuzzer.seed): \(bytes)") }
                } catch { Issue.record("\(error) for \(subset); seed \(fuzzer.seed): \(bytes)") }
            }
        }
    }

    /// Whether `rest` is what is left when bytes of `whole` are removed.
    private static func isRest(_ rest: [UInt8], of whole: [UInt8]) -> Bool {
        var left = rest[...]
        for byte in whole where byte == left.first { left = left.dropFirst() }
        return left.isEmpty
    }
}
