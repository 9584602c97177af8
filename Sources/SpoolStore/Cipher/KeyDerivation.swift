/// The one-way functions that derive keys and names, implemented by the platform's cryptography.
/// All of them use SHA-256.
package enum KeyDerivation {
    /// Derives a key from `key` by HKDF (RFC 5869). Each `info` gives another key, and no derived
    /// key reveals another one.
    package static func derive(from key: EncryptionKey, salt: [UInt8], info: String) -> EncryptionKey {
        EncryptionKey { output in
            key.withBytes { key in platformHKDF(key, salt: salt, info: Array(info.utf8), into: output) }
        }
    }

    /// Derives a key from a passphrase by PBKDF2 with HMAC-SHA-256 (RFC 8018 §5.2). It is the only
    /// function of its kind that both OpenSSL and Apple's CommonCrypto have.
    ///
    /// - Parameter iterations: at least 1. The duration of the call is proportional to it.
    package static func derive(fromPassphrase passphrase: UnsafeRawBufferPointer, salt: [UInt8], iterations: Int) -> EncryptionKey {
        precondition(iterations > 0 && iterations <= Int32.max, "\(iterations) iterations")
        return EncryptionKey { output in platformPBKDF2(passphrase, salt: salt, iterations: iterations, into: output) }
    }
}
