import SpoolCore

/// The bounds of an XML document that is read.
package struct XMLLimits: Hashable, Sendable {
    /// The deepest nesting of elements. An MPD has about ten levels.
    package var maxDepth = 64
    /// The most elements: a day of two-second segments in the timelines of six representations.
    package var maxElements = 1 << 18
    /// The bytes of the shortest element that the document has many of. An element of DASH with an
    /// attribute has ten.
    package var leastElementBytes = 10
    /// The most attributes of one element. The largest element of DASH has about 40.
    var maxAttributes = 128
    /// The most namespaces that are declared at one place of the document.
    var maxNamespaces = 128

    /// The bounds of an MPD.
    package init() {}
}

/// The declarations of namespaces at one place of a document, the innermost last.
struct XMLNamespaces {
    private var declared: [(prefix: ArraySlice<UInt8>, namespace: XMLDocument.Namespace)] = []

    var count: Int { declared.count }

    mutating func declare(_ prefix: ArraySlice<UInt8>, as name: ArraySlice<UInt8>) {
        declared.append((prefix, Self.namespace(named: name)))
    }

    mutating func removeLast(_ count: Int) { declared.removeLast(count) }

    /// The namespace of a prefix. The empty prefix has the default namespace.
    func namespace(of prefix: ArraySlice<UInt8>) -> XMLDocument.Namespace {
        declared.last { $0.prefix.count == prefix.count && $0.prefix.elementsEqual(prefix) }?.namespace ?? .none
    }

    private static func namespace(named name: ArraySlice<UInt8>) -> XMLDocument.Namespace {
        if name.isEmpty { return .none }
        // Streams of the first years write the name in other cases.
        let dash = "urn:mpeg:dash:".utf8
        if name.count >= dash.count, zip(name, dash).allSatisfy({ $0.asciiLowercased == $1 }) { return .dash }
        return name.elementsEqual("http://www.w3.org/1999/xlink".utf8) ? .xlink : .other
    }
}
