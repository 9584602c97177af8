import SpoolCore

/// The references of a manifest, in the order of the document.
///
/// A long playlist has thousands of references that are in the document as a player resolves them.
/// Such a *verbatim* reference has no text of its own here; its text is made on demand.
///
/// Most of them have the directory of the one before and a name that leads nowhere else, a *plain*
/// one. The work for their directory is done once.
package struct ManifestReferences: RandomAccessCollection, Hashable, Sendable {
    /// The parts that references have in common.
    private struct Form: Hashable {
        var base: ManifestBase
        var role: ManifestReference.Role
        var syntax: ManifestReference.Syntax
    }

    private struct Entry: Hashable {
        var lower: UInt32
        var upper: UInt32
        /// The index of the form.
        var form: UInt32
        /// The index of the text. A verbatim text with a plain name has `verbatim` and the length of
        /// its directory, and another one has `notPlain`.
        var text: UInt32
    }

    private static let verbatim = UInt32(1) << 31
    private static let notPlain = UInt32.max

    private let document: [UInt8]
    private var entries: [Entry] = []
    private var forms: [Form] = []
    private var texts: [String] = []
    /// The directory of the last verbatim text of a line or a quoted string.
    private var directory = 0..<0

    /// Creates references of a document.
    ///
    /// - Parameter document: The bytes with the verbatim references, if it has such ones.
    init(of document: [UInt8] = []) { self.document = document }

    package var startIndex: Int { 0 }
    package var endIndex: Int { entries.count }

    package subscript(index: Int) -> ManifestReference {
        let entry = entries[index], form = forms[Int(entry.form)], span = span(at: index)
        let text = entry.text >= Self.verbatim ? String(decoding: document[span], as: UTF8.self) : texts[Int(entry.text)]
        return ManifestReference(span: span, text: text, base: form.base, role: form.role, syntax: form.syntax)
    }

    /// The bytes of a reference in the document.
    func span(at index: Int) -> Range<Int> { Int(entries[index].lower)..<Int(entries[index].upper) }

    /// Adds a reference.
    package mutating func append(_ reference: ManifestReference) {
        texts.append(reference.text)
        let form = Form(base: reference.base, role: reference.role, syntax: reference.syntax)
        append(reference.span, form, text: UInt32(texts.count - 1))
    }

    /// Adds a reference whose text is in the document as it is.
    mutating func appendVerbatim(_ span: Range<Int>, base: ManifestBase, role: ManifestReference.Role, syntax: ManifestReference.Syntax) {
        let isPlain = (syntax == .plain || syntax == .line) && findDirectory(of: span)
        append(
            span, Form(base: base, role: role, syntax: syntax),
            text: isPlain ? Self.verbatim | UInt32(directory.count) : Self.notPlain)
    }

    /// Updates `directory` for the text at `span`.
    ///
    /// - Returns: Whether the name behind it is plain.
    private mutating func findDirectory(of span: Range<Int>) -> Bool {
        document.withUnsafeBytes { document in
            let text = UnsafeRawBufferPointer(rebasing: document[span]), slash = UInt8(ascii: "/"), question = UInt8(ascii: "?")
            let last = UnsafeRawBufferPointer(rebasing: document[directory])
            let isSame = text.begins(with: last, at: 0)
            if !isSame || text.firstIndex(of: slash, question, question, from: last.count).map({ text[$0] == slash }) == true {
                directory = span.lowerBound..<span.lowerBound + text.split.directory.upperBound
            }
            return text.hasPlainName(from: directory.count)
        }
    }

    private mutating func append(_ span: Range<Int>, _ form: Form, text: UInt32) {
        // Neighbours have the same form nearly always. Bases are compared by identity.
        let last = forms.count - 1
        if last < 0 || forms[last].base !== form.base || forms[last].role != form.role || forms[last].syntax != form.syntax {
            forms.append(form)
        }
        entries.append(
            Entry(lower: UInt32(span.lowerBound), upper: UInt32(span.upperBound), form: UInt32(forms.count - 1), text: text))
    }

    /// Removes the references whose bytes fulfil a condition. It is asked in the order of the
    /// document.
    mutating func removeAll(where isRemoved: (Range<Int>) -> Bool) {
        entries.removeAll { isRemoved(Int($0.lower)..<Int($0.upper)) }
    }

    // MARK: Visiting

    /// The base of a reference.
    package func base(at index: Int) -> ManifestBase { forms[Int(entries[index].form)].base }

    /// A verbatim reference of a line or a quoted string, with a directory and a plain name. Its
    /// text is visible ASCII without fragment.
    package struct Verbatim {
        /// The document, which is valid as long as the visit lasts.
        fileprivate let document: UnsafeRawBufferPointer
        fileprivate let span: Range<Int>
        /// The place of the directory in the document.
        package let place: Range<Int>
        package let role: ManifestReference.Role
        package let index: Int

        package var text: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: document[span]) }
        /// The text up to its last slash.
        package var directory: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: document[place]) }
        /// The text behind its directory.
        package var name: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: document[place.upperBound..<span.upperBound]) }

        /// Whether the directory is written as the one at a place of the document.
        package func isBeside(_ place: Range<Int>?) -> Bool {
            guard let place, place.count == self.place.count else { return false }
            return document.begins(with: directory, at: place.lowerBound)
        }
    }

    /// Calls `verbatim` for each reference that can be a `Verbatim`, and `other` for the others and
    /// for those that `verbatim` does not take.
    ///
    /// - Parameters:
    ///   - verbatim: Takes a reference. Returns false to leave it to `other`.
    ///   - other: Takes a reference. Returns false to end the visit.
    package func forEach(verbatim: (Verbatim) -> Bool, other: (ManifestReference) -> Bool) {
        document.withUnsafeBytes { bytes in
            for index in entries.indices {
                let entry = entries[index]
                if entry.text >= Self.verbatim, entry.text != Self.notPlain {
                    let span = span(at: index), place = span.lowerBound..<span.lowerBound + Int(entry.text - Self.verbatim)
                    let role = forms[Int(entry.form)].role
                    if verbatim(Verbatim(document: bytes, span: span, place: place, role: role, index: index)) { continue }
                }
                guard other(self[index]) else { return }
            }
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether the name that begins at `start` leads nowhere else than to its directory: no dot
    /// segment, no escape that browsers take for one, no backslash, and, without directory, no
    /// scheme.
    fileprivate func hasPlainName(from start: Int) -> Bool {
        guard start < count, ![".", "%"].contains(Unicode.Scalar(self[start])) else { return false }
        let question = UInt8(ascii: "?"), backslash = UInt8(ascii: "\\")
        guard let end = firstIndex(of: question, backslash, start == 0 ? .colon : backslash, from: start) else { return true }
        return self[end] == question && end > start
    }
}
