/// A media type with its parameters, as in `Content-Type` (RFC 9110 §8.3.1).
package struct MediaType: Hashable, Sendable {
    /// One parameter.
    package struct Parameter: Hashable, Sendable {
        /// The name in lower case.
        package var name: String
        /// The value without quotes and escapes.
        package var value: String
    }

    /// The top-level type in lower case, such as `video` in `video/mp4`.
    package let type: String
    /// The subtype in lower case, such as `mp4` in `video/mp4`.
    package let subtype: String
    /// The parameters in the order of the field; at most `maxParameters`, and any further ones are
    /// left out.
    package let parameters: [Parameter]

    /// The most parameters that are read.
    package static let maxParameters = 32

    /// Reads a field value. Malformed parameters are left out.
    ///
    /// - Returns: nil if the value does not begin with a type and a subtype.
    package init?(_ value: String) {
        var scanner = ByteScanner(value)
        scanner.skipWhitespace()
        guard let type = scanner.token(), scanner.take(.slash), let subtype = scanner.token() else { return nil }
        scanner.skipWhitespace()
        guard scanner.isAtEnd || scanner.next == .semicolon || scanner.next == .comma else { return nil }
        self.type = type.asciiLowercased
        self.subtype = subtype.asciiLowercased
        parameters = Self.parameters(&scanner)
    }

    private static func parameters(_ scanner: inout ByteScanner) -> [Parameter] {
        var parameters: [Parameter] = []
        while scanner.take(.semicolon), parameters.count < maxParameters {
            scanner.skipWhitespace()
            if let name = scanner.token(), scanner.take(.equals), let value = scanner.quotedString() ?? scanner.token() {
                parameters.append(Parameter(name: name.asciiLowercased, value: value))
            }
            _ = scanner.take { $0 != .semicolon }
        }
        return parameters
    }

    /// Type and subtype without parameters, in lower case.
    package var essence: String { "\(type)/\(subtype)" }

    /// The value of the first parameter with that name. `name` is in lower case.
    package subscript(parameter name: String) -> String? {
        parameters.first { $0.name == name }?.value
    }
}
