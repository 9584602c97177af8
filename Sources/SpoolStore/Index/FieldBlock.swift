package import SpoolCore

/// The form of header fields in the index: lines as in HTTP/1.1, `name: value` and CR LF (RFC 9112
/// §5).
///
/// The form is legible in the database. It is lossless for every field that HTTP allows, because a
/// name has no colon and neither part has CR, LF or NUL.
///
/// A response with another status than 200 has a line `:status: 404` before its fields. No field of
/// HTTP has such a name. The mark of a variant is a line behind the fields.
package enum FieldBlock {
    /// Returns the bytes of a response's status, fields and mark.
    package static func encode(_ representation: Representation) -> [UInt8] {
        let status = representation.isContent ? "" : "\(statusName): \(representation.status)\r\n"
        let fields = HTTPFields(representation.fields.lines.filter { !$0.name.equalsIgnoringCase(markName) })
        let mark = representation.mark.map { "\(markName): \($0.text)\r\n" } ?? ""
        return Array(status.utf8) + encode(fields) + Array(mark.utf8)
    }

    /// Returns the status of a block: that of its status line, or 200.
    package static func status(_ bytes: [UInt8]) -> Int {
        for line in bytes.split(separator: UInt8(ascii: "\n")).prefix(2) where line.starts(with: "\(statusName): ".utf8) {
            let digits = line.dropFirst(statusName.utf8.count + 2).prefix { (0x30...0x39).contains($0) }
            return Int(String(decoding: digits, as: UTF8.self)).flatMap { (200...999).contains($0) ? $0 : nil } ?? 200
        }
        return 200
    }

    private static let statusName = ":status"

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
            fields.append(HTTPFields.Name(String(decoding: line[..<colon], as: UTF8.self)), String(decoding: value, as: UTF8.self))
        }
        return fields
    }

    // MARK: The mark of a variant

    /// The name of the line for a version's mark. It has a space, so no field of HTTP has it.
    private static let markName = "spool variant"

    /// Returns the fields and the mark of a version. A version of an earlier format has no mark.
    package static func decodeVersion(_ bytes: [UInt8]) -> (fields: HTTPFields, mark: VariantMark?) {
        var fields = decode(bytes)
        guard let text = fields[markName] else { return (fields, nil) }
        fields[markName] = nil
        return (fields, VariantMark(text: text))
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
