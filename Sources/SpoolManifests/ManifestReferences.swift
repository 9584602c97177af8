/// The references of a manifest, in the order of the document.
///
/// A long playlist has thousands of references that are in the document as a player resolves them.
/// Such a *verbatim* reference has no text of its own here; its text is made on demand.
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
        /// The index of the text, or `verbatim`.
        var text: UInt32
    }

    private static let verbatim = UInt32.max

    private let document: [UInt8]
    private var entries: [Entry] = []
    private var forms: [Form] = []
    private var texts: [String] = []

    /// Creates references of a document.
    ///
    /// - Parameter document: The bytes with the verbatim references, if it has such ones.
    init(of document: [UInt8] = []) { self.document = document }

    package var startIndex: Int { 0 }
    package var endIndex: Int { entries.count }

    package subscript(index: Int) -> ManifestReference {
        let entry = entries[index], form = forms[Int(entry.form)], span = span(at: index)
        let text = entry.text == Self.verbatim ? String(decoding: document[span], as: UTF8.self) : texts[Int(entry.text)]
        return ManifestReference(span: span, text: text, base: form.base, role: form.role, syntax: form.syntax)
    }

    /// The bytes of a reference in the document.
    func span(at index: Int) -> Range<Int> { Int(entries[index].lower)..<Int(entries[index].upper) }

    /// The memory that the references take besides the document, in bytes, about.
    package var heldBytes: Int {
        entries.count * MemoryLayout<Entry>.stride + texts.reduce(0) { $0 + $1.utf8.count + MemoryLayout<String>.stride }
    }

    /// Adds a reference.
    package mutating func append(_ reference: ManifestReference) {
        texts.append(reference.text)
        let form = Form(base: reference.base, role: reference.role, syntax: reference.syntax)
        append(reference.span, form, text: UInt32(texts.count - 1))
    }

    /// Adds a reference whose text is in the document as it is.
    mutating func appendVerbatim(_ span: Range<Int>, base: ManifestBase, role: ManifestReference.Role, syntax: ManifestReference.Syntax) {
        append(span, Form(base: base, role: role, syntax: syntax), text: Self.verbatim)
    }

    private mutating func append(_ span: Range<Int>, _ form: Form, text: UInt32) {
        // Neighbours have the same form nearly always.
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

    /// Calls `verbatim` for each verbatim reference of a line or a quoted string, and `other` for
    /// the others and for those that `verbatim` does not take. The former are visible ASCII
    /// without fragment.
    ///
    /// - Parameters:
    ///   - verbatim: Takes the bytes of the text, which are valid until it returns, the role and
    ///     the index. Returns false to leave the reference to `other`.
    ///   - other: Takes a reference. Returns false to end the visit.
    package func forEach(
        verbatim: (UnsafeRawBufferPointer, ManifestReference.Role, Int) -> Bool, other: (ManifestReference) -> Bool
    ) {
        document.withUnsafeBytes { bytes in
            for index in entries.indices {
                let entry = entries[index]
                if entry.text == Self.verbatim {
                    let (role, syntax) = (forms[Int(entry.form)].role, forms[Int(entry.form)].syntax)
                    let text = UnsafeRawBufferPointer(rebasing: bytes[span(at: index)])
                    if syntax == .plain || syntax == .line, verbatim(text, role, index) { continue }
                }
                guard other(self[index]) else { return }
            }
        }
    }
}
