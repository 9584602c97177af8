package import SpoolCore

/// Replacements of byte ranges in a document. All bytes outside of them stay as they are.
///
/// An edit replaces every byte of its span. An edit inside of another one's span therefore is
/// ignored. Readers can add a removal and an edit of the removed text independently of each other.
package struct ManifestEdits: Hashable, Sendable {
    /// An edit in 16 bytes, because a long playlist has hundreds of thousands. Documents and texts
    /// are far smaller than 4 GiB (`ManifestLimits`).
    fileprivate struct Edit: Hashable {
        var lower: UInt32
        var upper: UInt32
        var textLower: UInt32
        var textUpper: UInt32

        var span: Range<Int> { Int(lower)..<Int(upper) }
        var text: Range<Int> { Int(textLower)..<Int(textUpper) }
    }

    private var edits: [Edit] = []
    /// The new texts. Neighbours with equal texts share one.
    private var texts: [UInt8] = []
    /// The bytes that the document grows by, without those that it loses.
    private(set) var addedBytes = 0

    /// Creates a list without edits.
    package init() {}

    /// Whether there is no edit.
    package var isEmpty: Bool { edits.isEmpty }

    /// Makes room for `count` more edits.
    mutating func reserve(_ count: Int) { edits.reserveCapacity(edits.count + count) }

    /// Replaces the bytes of `span`. An empty `span` inserts, and an empty `text` removes.
    package mutating func replace(_ span: Range<Int>, with text: [UInt8]) {
        addedBytes += max(0, text.count - span.count)
        let place = place(of: text)
        edits.append(
            Edit(
                lower: UInt32(span.lowerBound), upper: UInt32(span.upperBound), textLower: UInt32(place.lowerBound),
                textUpper: UInt32(place.upperBound)))
    }

    /// The place of a text among all, which is that of the last one where both are equal.
    private mutating func place(of text: [UInt8]) -> Range<Int> {
        if let last = edits.last?.text, last.count == text.count, texts.begins(with: text, at: last.lowerBound) { return last }
        let start = texts.count
        texts += text
        return start..<texts.count
    }

    /// Returns `bytes` with all edits. Of several edits of one span, a removal takes effect.
    ///
    /// - Throws: `ParseError` for spans that overlap without one containing the other, for two
    ///   texts in one span, and for a span outside of the document. It is not certain then which
    ///   bytes the result has.
    /// - Complexity: O(*n* + *e* log *e*), *e* being the number of edits.
    package func applied(to bytes: [UInt8]) throws(ParseError) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + addedBytes)
        var outer: Edit?
        for edit in inOrder {
            let position = outer?.span.upperBound ?? 0
            if let outer, isReplaced(edit, by: outer) { continue }
            guard edit.span.lowerBound >= position, edit.span.upperBound <= bytes.count else {
                throw ParseError(offset: edit.span.lowerBound, expected: "edits of the document, apart or one inside another")
            }
            try result.append(bytes, from: position, to: edit.span.lowerBound)
            try result.append(texts, from: edit.text.lowerBound, to: edit.text.upperBound)
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

    /// Whether an edit that comes before another one replaces its bytes, too.
    private func isReplaced(_ edit: Edit, by outer: Edit) -> Bool {
        guard edit.span != outer.span else { return outer.text.isEmpty || texts[outer.text] == texts[edit.text] }
        return edit.lower < outer.upper && edit.upper <= outer.upper
    }
}

extension ManifestEdits.Edit {
    fileprivate func comesBefore(_ other: Self) -> Bool {
        (lower, other.upper, text.count) < (other.lower, upper, other.text.count)
    }
}
