import SpoolCore
import Testing

@Suite struct `Keys compare byte by byte` {
    @Test func `a composed and a decomposed letter are two keys`() {
        let composed = ResourceKey(normalized: "caf\u{E9}")
        let decomposed = ResourceKey(normalized: "cafe\u{301}")
        #expect(composed.string == decomposed.string)
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
        #expect((composed < decomposed) != (decomposed < composed))
    }

    @Test func `keys are ordered by their bytes, as in the index`() {
        let keys = ["a/b", "Z", "é", "~", "aa", "b", "a"].map(ResourceKey.init(normalized:))
        #expect(keys.sorted().map(\.string) == ["Z", "a", "a/b", "aa", "b", "~", "é"])
    }
}
