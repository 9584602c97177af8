/// Writes JSON (RFC 8259) as text, value after value, with commas and quotes.
///
///     var json = JSONWriter()
///     json.object {
///         $0.field("key", "…")
///         $0.array("stored") { … }
///     }
///     json.text
struct JSONWriter {
    private(set) var text = ""
    private var needsComma = false

    mutating func object(_ members: (inout JSONWriter) -> Void) {
        group("{", "}", members)
    }

    mutating func array(_ elements: (inout JSONWriter) -> Void) {
        group("[", "]", elements)
    }

    mutating func field(_ name: String, _ value: String) {
        key(name)
        self.value(value)
    }

    mutating func field(_ name: String, _ value: Int64) {
        key(name)
        self.value(value)
    }

    /// Writes a number, or null for an unknown one.
    mutating func field(_ name: String, orNull value: Int64?) {
        if let value { field(name, value) } else { null(name) }
    }

    mutating func field(_ name: String, _ value: Bool) {
        key(name)
        scalar(value ? "true" : "false")
    }

    mutating func field(_ name: String, array elements: (inout JSONWriter) -> Void) {
        key(name)
        array(elements)
    }

    mutating func field(_ name: String, object members: (inout JSONWriter) -> Void) {
        key(name)
        object(members)
    }

    /// Writes null, for an unknown value.
    mutating func null(_ name: String) {
        key(name)
        scalar("null")
    }

    mutating func value(_ string: String) {
        scalar(Self.quoted(string))
    }

    mutating func value(_ number: Int64) {
        scalar(String(number))
    }

    private mutating func key(_ name: String) {
        scalar(Self.quoted(name))
        text += ":"
        needsComma = false
    }

    private mutating func scalar(_ written: String) {
        if needsComma { text += "," }
        text += written
        needsComma = true
    }

    private mutating func group(_ open: String, _ close: String, _ body: (inout JSONWriter) -> Void) {
        if needsComma { text += "," }
        text += open
        needsComma = false
        body(&self)
        text += close
        needsComma = true
    }

    /// Returns the string in quotes, with control characters escaped and all others unchanged (RFC
    /// 8259 §7).
    static func quoted(_ string: String) -> String {
        var result = "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}":
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
