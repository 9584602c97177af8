import SpoolCore
import SpoolManifests
import Testing

/// Edits that readers add independently of each other, applied to one document.
struct ManifestEditsTests {
    private static func applied(_ edits: [(Range<Int>, String)], to text: String = "0123456789") throws -> String {
        var all = ManifestEdits()
        for (span, new) in edits { all.replace(span, with: Array(new.utf8)) }
        return String(decoding: try all.applied(to: Array(text.utf8)), as: UTF8.self)
    }

    @Test func `an edit replaces its whole span, in whatever order the edits come`() throws {
        let edits = [(2..<8, "x"), (3..<5, "inner"), (2..<3, "first"), (7..<8, "last"), (2..<2, "insertion"), (8..<9, "y")]
        #expect(try Self.applied(edits) == "01xy9")
        #expect(try Self.applied(edits.reversed()) == "01xy9")
    }

    @Test func `a removal takes effect before another text of the same span`() throws {
        #expect(try Self.applied([(2..<4, "x"), (2..<4, "")]) == "01456789")
        #expect(try Self.applied([(2..<4, "x"), (2..<4, "x")]) == "01x456789")
    }

    @Test func `insertions stay beside a removal, and two at one place come both`() throws {
        #expect(try Self.applied([(4..<4, "b"), (2..<4, "")]) == "01b456789")
        #expect(try Self.applied([(4..<4, "b"), (4..<4, "c")]) == "0123bc456789")
    }

    /// It is not certain which bytes the document has then, so there is no document.
    @Test(arguments: [[2..<5, 4..<6], [2..<4, 2..<4], [8..<11], [11..<11]])
    func `edits that contradict each other, or leave the document, are an error`(spans: [Range<Int>]) {
        #expect(throws: ParseError.self) { try Self.applied(spans.enumerated().map { ($0.element, "\($0.offset)") }) }
    }
}
