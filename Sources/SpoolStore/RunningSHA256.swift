import SpoolSystem

#if os(Linux)
import COpenSSL
#else
import CryptoKit
#endif

/// The SHA-256 of bytes that come one after the other, by the platform's cryptography.
package final class RunningSHA256: Sendable {
    #if os(Linux)
    private let context: Locked<OpaquePointer>

    /// Creates the digest of no bytes.
    package init() {
        guard let made = EVP_MD_CTX_new(), EVP_DigestInit_ex(made, EVP_sha256(), nil) == 1 else { fatalError("OpenSSL has no SHA-256") }
        context = Locked(made)
    }

    deinit { context.withLock { EVP_MD_CTX_free($0) } }

    /// Appends bytes. Nothing may be appended after `finish`.
    package func append(_ bytes: UnsafeRawBufferPointer) {
        let code = context.withLock { EVP_DigestUpdate($0, bytes.baseAddress, bytes.count) }
        precondition(code == 1, "OpenSSL could not take bytes for a SHA-256")
    }

    /// Returns the digest of all bytes. Called once.
    package func finish() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: SHA256Digest.byteCount) { digest, count in
            let code = context.withLock { EVP_DigestFinal_ex($0, digest.baseAddress, nil) }
            precondition(code == 1, "OpenSSL could not finish a SHA-256")
            count = SHA256Digest.byteCount
        }
    }
    #else
    private let hash = Locked(SHA256())

    /// Creates the digest of no bytes.
    package init() {}

    /// Appends bytes. Nothing may be appended after `finish`.
    package func append(_ bytes: UnsafeRawBufferPointer) { hash.withLock { $0.update(bufferPointer: bytes) } }

    /// Returns the digest of all bytes. Called once.
    package func finish() -> [UInt8] { hash.withLock { [UInt8]($0.finalize()) } }
    #endif
}
