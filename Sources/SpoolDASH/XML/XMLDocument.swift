/// An XML document as spans of its bytes, so that a change of one span keeps every other byte.
///
/// Nothing is expanded: references to declared entities are not understood, and a document type
/// declaration is skipped. The document is well-formed as far as the spans need it. A document may
/// have several elements at its top, as remote elements of DASH do.
package struct XMLDocument: Sendable {
    let bytes: [UInt8]
    /// The encoding that the document declares.
    let encoding: XMLEncoding
    /// The elements in the order of their start tags.
    var elements: [Element] = []
    var attributes: [Attribute] = []
    /// Texts and CDATA sections in the order of the document, without texts of white space alone.
    var texts: [Text] = []

    /// The namespaces that matter to manifests.
    enum Namespace: Hashable, Sendable {
        /// One of the namespaces of MPEG-DASH.
        case dash
        case xlink
        /// No namespace, or a prefix without declaration. Players without namespaces accept both.
        case none
        case other
    }

    /// A range in 8 bytes, because a document may have more elements than kilobytes. Documents are
    /// far smaller than 4 GiB (`ManifestLimits`).
    @propertyWrapper struct Compact: Sendable {
        private var lower: UInt32
        private var upper: UInt32

        init(wrappedValue: Range<Int>) { (lower, upper) = (UInt32(wrappedValue.lowerBound), UInt32(wrappedValue.upperBound)) }

        var wrappedValue: Range<Int> {
            get { Int(lower)..<Int(upper) }
            set { self = Compact(wrappedValue: newValue) }
        }
    }

    /// An element and its place in the tree.
    struct Element: Sendable {
        /// The name without prefix.
        @Compact var name: Range<Int>
        /// The element's attributes among all of the document.
        @Compact var attributes: Range<Int>
        /// The texts inside the element and its descendants, among all of the document.
        @Compact var texts: Range<Int>
        /// All bytes of the element, from its start tag to its end tag.
        @Compact var span: Range<Int>
        /// The index of the first element behind this one and its descendants.
        var next: Int
        var namespace: Namespace
    }

    /// An attribute with its value between the quotes.
    struct Attribute: Sendable {
        /// The name without prefix.
        @Compact var name: Range<Int>
        @Compact var value: Range<Int>
        var namespace: Namespace
    }

    /// A run of text, or the inside of a CDATA section.
    struct Text: Sendable {
        @Compact var span: Range<Int>
        /// The span with the markers of a CDATA section.
        @Compact var outer: Range<Int>
        var isCDATA: Bool { span != outer }
    }

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        encoding = XMLEncoding(of: bytes) ?? .other
    }
}

// MARK: - Reading the tree

extension XMLDocument {
    /// The name of an element without prefix.
    package func name(_ element: Int) -> String { String(decoding: bytes[elements[element].name], as: UTF8.self) }

    /// The offset of an element's first byte.
    package func start(of element: Int) -> Int { elements[element].span.lowerBound }

    /// Whether an element has this name, in a namespace of DASH or in none.
    func isDASH(_ element: Int, _ name: String) -> Bool {
        isDASH(element) && bytes[elements[element].name].elementsEqual(name.utf8)
    }

    /// Whether an element is in a namespace of DASH or in none.
    func isDASH(_ element: Int) -> Bool { [.dash, .none].contains(elements[element].namespace) }

    /// The elements directly inside an element, in their order.
    package func children(of element: Int) -> Children {
        Children(document: self, position: element + 1, end: elements[element].next)
    }

    /// The indices of sibling elements.
    package struct Children: Sequence, IteratorProtocol {
        fileprivate let document: XMLDocument
        fileprivate var position: Int
        fileprivate let end: Int

        package mutating func next() -> Int? {
            guard position < end else { return nil }
            defer { position = document.elements[position].next }
            return position
        }
    }

    /// The attribute of an element with this name, without namespace.
    func attribute(_ name: String, of element: Int) -> Attribute? {
        attribute(name, .none, of: element)
    }

    func attribute(_ name: String, _ namespace: Namespace, of element: Int) -> Attribute? {
        attributes[elements[element].attributes].first {
            $0.namespace == namespace && bytes[$0.name].elementsEqual(name.utf8)
        }
    }

    /// The decoded value of an attribute; nil without the attribute, and for a value with entities
    /// that are not predefined.
    func value(_ name: String, of element: Int) -> String? {
        attribute(name, of: element).flatMap { decoded($0.value) }
    }
}
