import SpoolStore
import SpoolSystem

/// Names that this process gives, and that mean nothing elsewhere: what only its key can make, only it can recognise.
package struct Pseudonyms: Sendable {
    private static let prefix = "spool-"
    /// Digits of each half of a name: 64 bits.
    private static let digits = 16

    private let key: EncryptionKey

    init(random: any RandomSource) {
        key = EncryptionKey { output in
            for offset in stride(from: 0, to: output.count, by: 8) {
                output.storeBytes(of: random.next(), toByteOffset: offset, as: UInt64.self)
            }
        }
    }

    /// What requests to `origin` (scheme and authority) say in `Via` (RFC 9110 §7.6.3).
    ///
    /// Each origin gets another name, so that two origins can't tell that their requests came from the same place. A name is half of the
    /// origin's HMAC, and a second HMAC of that half, by which it is recognised whatever the origin was.
    package func via(for origin: String) -> String {
        let half = half(of: "origin \(origin)")
        return "1.1 \(Self.prefix)\(half)\(self.half(of: "name \(half)"))"
    }

    /// Whether a value of `Via` has one of this process's names.
    package func isNamed(in value: String) -> Bool {
        value.split { $0 == " " || $0 == "," || $0 == "\t" }.contains { word in
            guard word.hasPrefix(Self.prefix), word.utf8.count == Self.prefix.utf8.count + 2 * Self.digits else { return false }
            let name = word.dropFirst(Self.prefix.count)
            return name.suffix(Self.digits) == half(of: "name \(name.prefix(Self.digits))")
        }
    }

    /// A name for the user information of a URL.
    func user(_ userinfo: some StringProtocol) -> String { half(of: "user \(userinfo)") }

    private func half(of text: String) -> String {
        KeyDerivation.hmac(text.utf8, key: key).prefix(Self.digits / 2).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }.joined()
    }
}
