import SpoolManifests

/// The encoding of an XML document, of those in which the bytes of ASCII mean ASCII.
enum XMLEncoding: Sendable {
    case utf8
    /// ISO-8859-1 or windows-1252. They differ in the bytes 0x80 to 0x9F, which are not understood.
    case latin1
    /// Another extension of ASCII. Values with bytes outside ASCII are not understood.
    case other

    /// The longest XML declaration that is read.
    private static let maxDeclarationBytes = 256

    /// Reads the declaration of a document (XML 1.0 §2.8). A document without one is UTF-8.
    ///
    /// - Returns: nil for another encoding, such as UTF-16.
    init?(of bytes: [UInt8]) {
        let start = bytes.dropFirst(bytes.countBeforeText)
        let declaration = start.prefix(Self.maxDeclarationBytes).prefix { $0 != UInt8(ascii: ">") }.text.lowercased()
        guard declaration.hasPrefix("<?xml"), let encoding = declaration.firstRange(of: "encoding") else {
            self = .utf8
            return
        }
        let isQuote = { (character: Character) in character == "\"" || character == "'" }
        let name = declaration[encoding.upperBound...].drop { $0 == " " || $0 == "=" || isQuote($0) }.prefix { !isQuote($0) && $0 != " " }
        switch name {
        case "utf-8", "utf8", "us-ascii", "ascii": self = .utf8
        case "iso-8859-1", "latin1", "windows-1252", "cp1252": self = .latin1
        default:
            guard Self.otherFamilies.contains(where: name.hasPrefix) else { return nil }
            self = .other
        }
    }

    private static let otherFamilies = ["iso-8859-", "windows-125", "cp125", "koi8-"]

    /// Returns the text of bytes, or nil when they are not understood.
    func text(of bytes: ArraySlice<UInt8>) -> String? {
        if bytes.isASCII { return bytes.text }
        switch self {
        case .utf8:
            let text = bytes.text
            return text.utf8.elementsEqual(bytes) ? text : nil
        case .latin1:
            guard !bytes.contains(where: { (0x80...0x9F).contains($0) }) else { return nil }
            return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        case .other: return nil
        }
    }
}
