extension String {
    /// Returns the value of a text member of a flat JSON object that this program wrote (RFC 8259
    /// §7), or nil if the object has no such member or its value is malformed.
    func member(_ name: String) -> String? {
        guard let start = firstRange(of: "\"\(name)\":\"") else { return nil }
        var rest = self[start.upperBound...].unicodeScalars
        var value = ""
        while let scalar = rest.popFirst() {
            switch scalar {
            case "\"": return value
            case "\\":
                guard let meant = Self.escaped(&rest) else { return nil }
                value.unicodeScalars.append(meant)
            default: value.unicodeScalars.append(scalar)
            }
        }
        return nil
    }

    /// Returns the value of a number in a flat JSON object.
    func number(_ name: String) -> Int64? {
        guard let start = firstRange(of: "\"\(name)\":") else { return nil }
        return Int64(self[start.upperBound...].prefix { $0.isNumber || $0 == "-" })
    }

    /// Reads an escape behind its backslash. Both writers of this program escape single scalars
    /// only, so a half of a surrogate pair is malformed.
    private static func escaped(_ rest: inout Substring.UnicodeScalarView) -> Unicode.Scalar? {
        switch rest.popFirst() {
        case "\""?: return "\""
        case "\\"?: return "\\"
        case "/"?: return "/"
        case "n"?: return "\n"
        case "r"?: return "\r"
        case "t"?: return "\t"
        case "u"?:
            let digits = String(String.UnicodeScalarView(rest.prefix(4)))
            rest = rest.dropFirst(4)
            return digits.unicodeScalars.count == 4 ? UInt32(digits, radix: 16).flatMap(Unicode.Scalar.init) : nil
        default: return nil
        }
    }
}
