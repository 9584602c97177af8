#if os(Linux)
import COpenSSL

/// OpenSSL's state for one key, for one thread at a time. `init` expands the key once; a call sets
/// only the nonce.
final class CipherContext: @unchecked Sendable {
    // Safe to share: `Cipher` hands a context to one thread at a time, through a lock.
    private let sealing: OpaquePointer
    private let opening: OpaquePointer

    init(_ algorithm: CipherAlgorithm, _ key: EncryptionKey) {
        sealing = Self.makeContext(algorithm, key, isSealing: true)
        opening = Self.makeContext(algorithm, key, isSealing: false)
    }

    deinit {
        // This also overwrites the expanded keys.
        EVP_CIPHER_CTX_free(sealing)
        EVP_CIPHER_CTX_free(opening)
    }

    private static func makeContext(_ algorithm: CipherAlgorithm, _ key: EncryptionKey, isSealing: Bool) -> OpaquePointer {
        let cipher =
            switch algorithm {
            case .chaCha20Poly1305: EVP_chacha20_poly1305()
            case .aes256GCM: EVP_aes_256_gcm()
            }
        guard let context = EVP_CIPHER_CTX_new() else { fatalError("no memory for a cipher's state") }
        let code = key.withBytes { key in
            EVP_CipherInit_ex(context, cipher, nil, key.bindMemory(to: UInt8.self).baseAddress, nil, isSealing ? 1 : 0)
        }
        precondition(code == 1, "OpenSSL has no \(algorithm)")
        return context
    }

    func seal(
        _ plaintext: UnsafeRawBufferPointer, into ciphertext: UnsafeMutableRawBufferPointer, nonce: UnsafeRawBufferPointer,
        authenticating associated: UnsafeRawBufferPointer, tag: UnsafeMutableRawBufferPointer
    ) {
        let isDone =
            begin(sealing, nonce, associated) && update(sealing, plaintext, ciphertext) && finish(sealing)
            && EVP_CIPHER_CTX_ctrl(sealing, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), tag.baseAddress) == 1
        // A failure must trap: otherwise the caller would write unsealed bytes, or a wrong tag, to
        // disk.
        precondition(isDone, "OpenSSL could not seal \(plaintext.count) bytes")
    }

    func open(
        _ ciphertext: UnsafeRawBufferPointer, into plaintext: UnsafeMutableRawBufferPointer, nonce: UnsafeRawBufferPointer,
        authenticating associated: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer
    ) -> Bool {
        guard begin(opening, nonce, associated), update(opening, ciphertext, plaintext) else { return false }
        // The call only reads the tag.
        let expected = UnsafeMutableRawPointer(mutating: tag.baseAddress)
        guard EVP_CIPHER_CTX_ctrl(opening, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), expected) == 1 else { return false }
        return finish(opening)
    }

    /// Sets the nonce and processes the associated data.
    private func begin(_ context: OpaquePointer, _ nonce: UnsafeRawBufferPointer, _ associated: UnsafeRawBufferPointer) -> Bool {
        guard EVP_CipherInit_ex(context, nil, nil, nil, nonce.bindMemory(to: UInt8.self).baseAddress, -1) == 1 else { return false }
        guard associated.count > 0 else { return true }
        var count: Int32 = 0
        return EVP_CipherUpdate(
            context, nil, &count, associated.bindMemory(to: UInt8.self).baseAddress, Int32(associated.count)) == 1
    }

    private func update(_ context: OpaquePointer, _ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer) -> Bool {
        guard input.count > 0 else { return true }
        var count: Int32 = 0
        let code = EVP_CipherUpdate(
            context, output.bindMemory(to: UInt8.self).baseAddress, &count, input.bindMemory(to: UInt8.self).baseAddress,
            Int32(input.count))
        return code == 1 && Int(count) == input.count
    }

    /// Ends the message: computes the tag when sealing, compares it when opening.
    private func finish(_ context: OpaquePointer) -> Bool {
        var count: Int32 = 0
        // Both ciphers output no bytes here, but the call requires room for one block.
        var rest: (UInt64, UInt64) = (0, 0)
        return withUnsafeMutableBytes(of: &rest) { rest in
            EVP_CipherFinal_ex(context, rest.bindMemory(to: UInt8.self).baseAddress, &count) == 1
        }
    }
}
#endif
