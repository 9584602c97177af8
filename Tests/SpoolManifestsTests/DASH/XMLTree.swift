import Foundation

#if canImport(FoundationXML)
import FoundationXML
#endif

/// The tree of an XML document as libxml2 reads it, independent of the parser under test.
final class XMLTree {
    let name: String
    let attributes: [String: String]
    private(set) var children: [XMLTree] = []
    /// The text directly inside, with CDATA sections.
    private(set) var text = ""

    init(name: String, attributes: [String: String]) {
        self.name = name
        self.attributes = attributes
    }

    /// Reads a document; nil when it is not well-formed.
    static func read(_ bytes: [UInt8]) -> XMLTree? {
        let parser = XMLParser(data: Data(bytes))
        let builder = Builder()
        parser.delegate = builder
        return parser.parse() ? builder.root : nil
    }

    /// The name without prefix.
    var localName: String { String(name.split(separator: ":").last ?? "") }

    /// The attributes by name.
    var sorted: [(key: String, value: String)] { attributes.sorted { $0.key < $1.key } }

    var trimmedText: String { text.trimmingCharacters(in: .whitespacesAndNewlines) }

    func children(_ name: String) -> [XMLTree] { children.filter { $0.localName == name } }

    /// The names and attributes of the tree, without the values that `isURL` accepts.
    func shape(_ isURL: (_ element: String, _ attribute: String?) -> Bool) -> String {
        let shown = sorted.map { key, value in
            "\(key)=\(isURL(localName, key) ? "…" : value)"
        }
        let text = isURL(localName, nil) ? "…" : trimmedText
        return "<\(name) \(shown.joined(separator: " "))>\(text)\(children.map { $0.shape(isURL) }.joined())</>"
    }

    private final class Builder: NSObject, XMLParserDelegate {
        var root: XMLTree?
        private var open: [XMLTree] = []

        func parser(
            _ parser: XMLParser, didStartElement elementName: String, namespaceURI: String?, qualifiedName qName: String?,
            attributes attributeDict: [String: String] = [:]
        ) {
            let node = XMLTree(name: elementName, attributes: attributeDict)
            if let parent = open.last { parent.children.append(node) } else { root = node }
            open.append(node)
        }

        func parser(_ parser: XMLParser, didEndElement elementName: String, namespaceURI: String?, qualifiedName qName: String?) {
            open.removeLast()
        }

        func parser(_ parser: XMLParser, foundCharacters string: String) { open.last?.text += string }

        func parser(_ parser: XMLParser, foundCDATA CDATABlock: Data) {
            open.last?.text += String(decoding: CDATABlock, as: UTF8.self)
        }
    }
}
