/// Replacements of byte ranges in a document. All bytes outside of them stay as they are.
package struct ManifestEdits: Hashable, Sendable {
    private var edits: [Edit] = []

    private struct Edit: Hashable {
        var span: Range<Int>
        var text: [UInt8]
    }

    /// Creates a list without edits.
    package init() {}

    /// Whether there is no edit.
    package var isEmpty: Bool { edits.isEmpty }

    /// Makes room for `count` more edits.
    mutating func reserve(_ count: Int) { edits.reserveCapacity(edits.count + count) }

    /// Replaces the bytes of `span`. An empty `span` inserts, and an empty `text` removes.
    ///
    /// - Precondition: Spans of different edits do not overlap.
    package mutating func replace(_ span: Range<Int>, with text: [UInt8]) {
        edits.append(Edit(span: span, text: text))
    }

    /// Returns `bytes` with all edits.
    ///
    /// - Complexity: O(*n* + *e* log *e*), *e* being the number of edits.
    package func applied(to bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + edits.reduce(0) { $0 + $1.text.count })
        var position = 0
        for edit in inOrder {
            precondition(edit.span.lowerBound >= position && edit.span.upperBound <= bytes.count, "edits overlap or leave the document")
            result += bytes[position..<edit.span.lowerBound]
            result += edit.text
            position = edit.span.upperBound
        }
        result += bytes[position...]
        return result
    }

    /// The edits in the order of their places, in which most lists are made.
    private var inOrder: [Edit] {
        let isInOrder = zip(edits, edits.dropFirst()).allSatisfy { $0.span.lowerBound <= $1.span.lowerBound }
        return isInOrder ? edits : edits.sorted { $0.span.lowerBound < $1.span.lowerBound }
    }
}
