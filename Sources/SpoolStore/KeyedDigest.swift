/// Digests of secrets that the index keeps in their place: HMAC-SHA-256 under a key of the store,
/// shortened to 128 bits.
///
/// Equal texts have equal digests in one store, also after a restart. A reader of the index cannot
/// compare them with those of another store.
package final class KeyedDigest: Sendable {
    /// The number of bytes of a digest.
    private static let byteCount = 16

    private let code: MessageCode

    /// Creates the digests of a store.
    ///
    /// - Parameter secret: The secret of the store. Empty for a store that ends with the process.
    package init(secret: [UInt8]) {
        code = MessageCode(key: Self.key("spool variants", secret))
    }

    /// Returns a key for one purpose, derived from the secret of a store.
    package static func key(_ purpose: String, _ secret: [UInt8]) -> EncryptionKey {
        EncryptionKey { $0.copyBytes(from: SHA256Digest.of("\(purpose) " + secret.hexadecimal)) }
    }

    /// Returns the digest of a text, as hexadecimal digits.
    package func of(_ text: String) -> String {
        Array(code.of(text.utf8).prefix(Self.byteCount)).hexadecimal
    }
}
