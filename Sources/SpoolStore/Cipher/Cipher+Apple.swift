#if canImport(CryptoKit)
import CryptoKit

/// One algorithm and one key for CryptoKit. The type has no state between calls.
final class CipherContext: Sendable {
    private let algorithm: CipherAlgorithm
    private let key: SymmetricKey

    init(_ algorithm: CipherAlgorithm, _ key: EncryptionKey) {
        self.algorithm = algorithm
        self.key = key.withBytes { SymmetricKey(data: $0) }
    }

    func seal(
        _ plaintext: UnsafeRawBufferPointer, into ciphertext: UnsafeMutableRawBufferPointer, nonce: UnsafeRawBufferPointer,
        authenticating associated: UnsafeRawBufferPointer, tag: UnsafeMutableRawBufferPointer
    ) {
        do {
            switch algorithm {
            case .chaCha20Poly1305:
                let box = try ChaChaPoly.seal(
                    plaintext, using: key, nonce: ChaChaPoly.Nonce(data: nonce), authenticating: associated)
                ciphertext.copyBytes(from: box.ciphertext)
                tag.copyBytes(from: box.tag)
            case .aes256GCM:
                let box = try AES.GCM.seal(plaintext, using: key, nonce: AES.GCM.Nonce(data: nonce), authenticating: associated)
                ciphertext.copyBytes(from: box.ciphertext)
                tag.copyBytes(from: box.tag)
            }
        } catch {
            // A failure must trap: otherwise the caller would write unsealed bytes, or a wrong tag,
            // to disk.
            preconditionFailure("CryptoKit could not seal \(plaintext.count) bytes: \(error)")
        }
    }

    func open(
        _ ciphertext: UnsafeRawBufferPointer, into plaintext: UnsafeMutableRawBufferPointer, nonce: UnsafeRawBufferPointer,
        authenticating associated: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer
    ) -> Bool {
        do {
            switch algorithm {
            case .chaCha20Poly1305:
                let box = try ChaChaPoly.SealedBox(nonce: ChaChaPoly.Nonce(data: nonce), ciphertext: ciphertext, tag: tag)
                plaintext.copyBytes(from: try ChaChaPoly.open(box, using: key, authenticating: associated))
            case .aes256GCM:
                let box = try AES.GCM.SealedBox(nonce: AES.GCM.Nonce(data: nonce), ciphertext: ciphertext, tag: tag)
                plaintext.copyBytes(from: try AES.GCM.open(box, using: key, authenticating: associated))
            }
            return true
        } catch {
            // Every error here means that the bytes differ from the sealed ones. The caller reports
            // that as corruption.
            return false
        }
    }
}
#endif
