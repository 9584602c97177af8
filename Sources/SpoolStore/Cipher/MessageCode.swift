#if os(Linux)
import COpenSSL
import SpoolSystem
#else
import CryptoKit
#endif

/// HMAC-SHA-256 (RFC 2104) with one key, by the platform's cryptography.
///
/// To prepare a key takes several times as long as the code of a short message, so the object keeps
/// the prepared key. Safe to use from any thread.
package final class MessageCode: Sendable {
    #if os(Linux)
    /// The context with the prepared key.
    private let context: Locked<OpaquePointer>

    /// Prepares a key.
    package init(key: EncryptionKey) {
        var digest = Array("SHA256".utf8CString)
        // The parameters point to both texts.
        let context = OSSL_MAC_PARAM_DIGEST.withCString { name in
            digest.withUnsafeMutableBufferPointer { digest -> OpaquePointer? in
                let parameters = [OSSL_PARAM_construct_utf8_string(name, digest.baseAddress, 0), OSSL_PARAM_construct_end()]
                let algorithm = EVP_MAC_fetch(nil, "HMAC", nil)
                defer { EVP_MAC_free(algorithm) }
                guard let context = EVP_MAC_CTX_new(algorithm) else { return nil }
                let code = key.withBytes { EVP_MAC_init(context, $0.bindMemory(to: UInt8.self).baseAddress, $0.count, parameters) }
                return code == 1 ? context : nil
            }
        }
        guard let context else { fatalError("OpenSSL has no HMAC-SHA-256") }
        self.context = Locked(context)
    }

    /// OpenSSL overwrites the key.
    deinit { context.withLock { EVP_MAC_CTX_free($0) } }

    /// Returns the code of a message, 32 bytes.
    package func of(_ message: some Sequence<UInt8>) -> [UInt8] {
        let message = Array(message)
        return [UInt8](unsafeUninitializedCapacity: SHA256Digest.byteCount) { output, count in
            // Without a key, the context begins anew with the one that it has.
            let isDone = context.withLock { context in
                EVP_MAC_init(context, nil, 0, nil) == 1 && EVP_MAC_update(context, message, message.count) == 1
                    && EVP_MAC_final(context, output.baseAddress, &count, output.count) == 1
            }
            precondition(isDone && count == SHA256Digest.byteCount, "OpenSSL could not make an HMAC")
        }
    }
    #else
    private let prepared: HMAC<SHA256>

    /// Prepares a key.
    package init(key: EncryptionKey) {
        prepared = key.withBytes { HMAC<SHA256>(key: SymmetricKey(data: $0)) }
    }

    /// Returns the code of a message, 32 bytes.
    package func of(_ message: some Sequence<UInt8>) -> [UInt8] {
        var code = prepared
        code.update(data: Array(message))
        return Array(code.finalize())
    }
    #endif
}
