import Testing

/// Writes MPDs in the styles that occur.
struct MPDWriter: Sendable, CustomTestStringConvertible {
    enum Quotes: Sendable { case double, single }
    enum Escapes: Sendable { case named, decimal, hexadecimal }
    enum Texts: Sendable { case plain, padded, section, mixed }

    var testDescription: String
    var prefix = ""
    var quotes = Quotes.double
    var escapes = Escapes.named
    var texts = Texts.plain
    var lineEnd = "\n"
    var head = #"<?xml version="1.0" encoding="UTF-8"?>"#

    var isPlain: Bool { testDescription == "plain" }

    static let all = [
        MPDWriter(testDescription: "plain"),
        MPDWriter(testDescription: "prefixes, CRLF", prefix: "d:", lineEnd: "\r\n"),
        MPDWriter(testDescription: "single quotes, padded texts", quotes: .single, texts: .padded),
        MPDWriter(testDescription: "CDATA", texts: .section, head: "\u{FEFF}<?xml version='1.0'?>"),
        MPDWriter(testDescription: "texts in parts, decimal references", escapes: .decimal, texts: .mixed, head: ""),
        MPDWriter(
            testDescription: "hexadecimal references, document type", prefix: "mpd:", escapes: .hexadecimal,
            head: "<?xml version=\"1.0\"?><!DOCTYPE MPD [<!ENTITY a \"<b>]>\"><!-- ' -->]><!-- <BaseURL>http://x/</BaseURL> --><?a b?>"),
    ]

    func document(_ content: String, attributes: [(String, String)] = []) -> String {
        let name = prefix.isEmpty ? "xmlns" : "xmlns:\(prefix.dropLast())"
        let all =
            [(name, "urn:mpeg:dash:schema:mpd:2011"), ("xmlns:xlink", "http://www.w3.org/1999/xlink"), ("profiles", "http://dashif.org/a")]
            + attributes
        return head + element("MPD", all, content)
    }

    func element(_ name: String, _ attributes: [(String, String)] = [], _ content: String = "") -> String {
        let quote = quotes == .double ? "\"" : "'"
        let list = attributes.map { " \($0.0)\(quotes == .single ? " = " : "=")\(quote)\(escaped($0.1))\(quote)" }.joined()
        return content.isEmpty
            ? "<\(prefix)\(name)\(list)/>\(lineEnd)" : "<\(prefix)\(name)\(list)>\(content)</\(prefix)\(name) >\(lineEnd)"
    }

    func text(_ name: String, _ attributes: [(String, String)] = [], _ value: String) -> String {
        element(name, attributes, written(value))
    }

    private func written(_ text: String) -> String {
        switch texts {
        case .plain: return escaped(text)
        case .padded: return "\(lineEnd)   \(escaped(text))\t\(lineEnd)"
        case .section: return "<![CDATA[\(text)]]>"
        case .mixed:
            let half = text.index(text.startIndex, offsetBy: text.count / 2)
            return "\(escaped(String(text[..<half])))<!-- > --><![CDATA[\(text[half...])]]> "
        }
    }

    private func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            guard let name = Self.names[scalar] else {
                result.unicodeScalars.append(scalar)
                continue
            }
            switch escapes {
            case .named: result += "&\(name);"
            case .decimal: result += "&#\(scalar.value);"
            case .hexadecimal: result += "&#x\(String(scalar.value, radix: 16));"
            }
        }
        return result
    }

    private static let names: [Unicode.Scalar: String] = ["&": "amp", "<": "lt", ">": "gt", "\"": "quot", "'": "apos"]
}
