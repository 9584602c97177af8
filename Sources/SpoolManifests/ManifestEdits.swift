package import SpoolCore

/// Replacements of byte ranges in a document. All bytes outside of them stay as they are.
///
/// An edit replaces every byte of its span. An edit inside of another one's span therefore has no
/// effect. Readers can add a removal and an edit of the removed text independently of each other.
package struct ManifestEdits: Hashable, Sendable {
    private var edits: [Edit] = []

    fileprivate struct Edit: Hashable {
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
    package mutating func replace(_ span: Range<Int>, with text: [UInt8]) {
        edits.append(Edit(span: span, text: text))
    }

    /// Returns `bytes` with all edits. Of several edits of one span, a removal takes effect.
    ///
    /// - Throws: `ParseError` for spans that overlap without one containing the other, for two
    ///   texts in one span, and for a span outside of the document. It is not certain then which
    ///   bytes the result has.
    /// - Complexity: O(*n* + *e* log *e*), *e* being the number of edits.
    package func applied(to bytes: [UInt8]) throws(ParseError) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + edits.reduce(0) { $0 + $1.text.count })
        var outer: Edit?
        for edit in inOrder {
            let position = outer?.span.upperBound ?? 0
            if let outer, edit.isReplaced(by: outer) { continue }
            guard edit.span.lowerBound >= position, edit.span.upperBound <= bytes.count else {
                throw ParseError(offset: edit.span.lowerBound, expected: "edits of the document, apart or one inside another")
            }
            result += bytes[position..<edit.span.lowerBound]
            result += edit.text
            outer = edit
        }
        result += bytes[(outer?.span.upperBound ?? 0)...]
        return result
    }

    /// The edits in the order of their places, in which most lists are made. An edit comes before
    /// those inside of it.
    private var inOrder: [Edit] {
        let isInOrder = zip(edits, edits.dropFirst()).allSatisfy { !$1.comesBefore($0) }
        return isInOrder ? edits : edits.sorted { $0.comesBefore($1) }
    }
}

extension ManifestEdits.Edit {
    fileprivate func comesBefore(_ other: Self) -> Bool {
        (span.lowerBound, other.span.upperBound, text.count) < (other.span.lowerBound, span.upperBound, other.text.count)
    }

    /// Whether an edit that comes before this one replaces its bytes, too.
    fileprivate func isReplaced(by outer: Self) -> Bool {
        guard span != outer.span else { return outer.text.isEmpty || outer.text == text }
        return span.lowerBound < outer.span.upperBound && span.upperBound <= outer.span.upperBound
    }
}
