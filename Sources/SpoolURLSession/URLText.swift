import SpoolCore

/// A URL as the text for Foundation's parser.
package enum URLText {
    /// Returns a URL in which every byte that a URL may not contain is percent-encoded, and nothing
    /// else changes.
    ///
    /// Since iOS 17 Foundation encodes a whole URL again when one such byte is in it, so `%2B`
    /// becomes `%252B` and a signature breaks. On iOS 16 it returns nil. Redirects of CDNs contain
    /// such bytes: `|`, `[`, `{`, `^`.
    package static func escaped(_ url: String) -> String {
        let bytes = Array(url.utf8)
        guard let slashes = bytes.indices.dropLast(2).first(where: { bytes[$0] == 0x3A && bytes[$0 + 1] == 0x2F && bytes[$0 + 2] == 0x2F })
        else { return url }
        // Brackets in the authority enclose an IPv6 address.
        guard let start = bytes[(slashes + 3)...].firstIndex(where: { $0 == 0x2F || $0 == 0x3F || $0 == 0x23 }) else { return url }
        var escaped = Array(bytes[..<start])
        for index in bytes.indices[start...] {
            let byte = bytes[index]
            let isEscape = byte == 0x25 && isHex(bytes, index + 1) && isHex(bytes, index + 2)
            if isEscape || (byte != 0x25 && allowed.contains(byte)) {
                escaped.append(byte)
            } else {
                escaped.appendEscape(of: byte)
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }

    /// The characters of a path, a query and a fragment (RFC 3986 §3.3–3.5).
    private static let allowed = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/?#".utf8)

    private static func isHex(_ bytes: [UInt8], _ index: Int) -> Bool {
        index < bytes.count && bytes[index].hexValue != nil
    }
}
