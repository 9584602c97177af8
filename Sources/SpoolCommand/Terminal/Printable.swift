extension StringProtocol {
    /// The text in a form for one line of a terminal: each control character becomes a space.
    ///
    /// Names, types and reasons come from origins and clients. An escape sequence in them could
    /// move the cursor, change the title, or forge a line.
    var printable: String {
        guard unicodeScalars.contains(where: \.isControl) else { return String(self) }
        return String(String.UnicodeScalarView(unicodeScalars.map { $0.isControl ? " " : $0 }))
    }
}

extension String {
    /// The text with spaces behind it, or before it, in a column of a width. A longer text stays as it
    /// is.
    func padded(to width: Int, onLeft: Bool = false) -> String {
        let space = String(repeating: " ", count: max(0, width - count))
        return onLeft ? space + self : self + space
    }
}

extension Unicode.Scalar {
    /// Whether the character is in C0, DEL or C1 (U+0080 to U+009F). A terminal may act on any of
    /// them.
    var isControl: Bool { value < 0x20 || (0x7F...0x9F).contains(value) }
}

extension BinaryInteger {
    /// The number with its noun, for example `1 resource`.
    func counted(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}
