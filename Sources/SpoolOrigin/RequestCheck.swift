package import SpoolCore

extension OriginRequest {
    /// The reason why this request can't be sent, or nil if it can.
    ///
    /// Names and values go into the message unchanged. A line break in one of them would make a
    /// field or a request of its own (RFC 9110 §5.5, RFC 9112 §11.1). Such a request is refused and
    /// never repaired.
    package var defect: OriginError? {
        if let bad = url.utf8.first(where: { $0 < 0x20 || $0 == 0x7F }) {
            return .malformed("the URL has the control byte \(bad)")
        }
        if url.utf8.count > Self.maxURLBytes {
            return .unsupportedURL("the URL has more than \(Self.maxURLBytes) bytes")
        }
        guard Self.schemes.contains(where: { url.utf8.count > $0.utf8.count && url.hasPrefixIgnoringCase($0) }) else {
            return .unsupportedURL("the URL does not begin with http:// or https://")
        }
        if method.isEmpty || !method.utf8.allSatisfy(\.isTokenByte) { return .malformed("the method is not a token") }
        for field in fields.lines {
            if !field.name.utf8.allSatisfy(\.isTokenByte) || field.name.isEmpty {
                return .malformed("a field name of the request is not a token")
            }
            if field.value.utf8.contains(where: { $0 == 0 || $0 == 0x0A || $0 == 0x0D }) {
                return .malformed("the request's field \(field.name) has a line break or a NUL")
            }
        }
        return nil
    }

    /// The longest URL that is sent, in bytes. Servers refuse much shorter ones.
    package static let maxURLBytes = 65_536

    private static let schemes = ["http://", "https://"]
}
