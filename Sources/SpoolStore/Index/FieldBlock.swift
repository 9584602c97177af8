package import SpoolCore

/// The form of header fields in the index: lines as in HTTP/1.1, `name: value` and CR LF (RFC 9112
/// §5).
///
/// The form is legible in the database. It is lossless for every field that HTTP allows, because a
/// name has no colon and neither part has CR, LF or NUL.
package enum FieldBlock {
    /// Returns the bytes of `fields`, without lines that HTTP does not allow.
    package static func encode(_ fields: HTTPFields) -> [UInt8] {
        var bytes: [UInt8] = []
        for field in fields.lines where isAllowed(field) {
            bytes += field.name.utf8
            bytes += [UInt8(ascii: ":"), UInt8(ascii: " ")]
            bytes += field.value.utf8
            bytes += [UInt8(ascii: "\r"), UInt8(ascii: "\n")]
        }
        return bytes
    }

    /// Returns the fields of a block. Lines that are not field lines are skipped, because the bytes
    /// come from a disk.
    package static func decode(_ bytes: [UInt8]) -> HTTPFields {
        var fields = HTTPFields()
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else { continue }
            var value = line[(colon + 1)...]
            if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
            fields.append(String(decoding: line[..<colon], as: UTF8.self), String(decoding: value, as: UTF8.self))
        }
        return fields
    }

    /// Returns the bytes before the end of the first line, as text.
    static func firstLine(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    private static func isAllowed(_ field: HTTPFields.Field) -> Bool {
        !field.name.isEmpty && !field.name.utf8.contains(where: { isForbidden($0) || $0 == UInt8(ascii: ":") })
            && !field.value.utf8.contains(where: isForbidden)
    }

    private static func isForbidden(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\n") || byte == 0
    }
}
