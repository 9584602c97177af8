import SpoolCore
import SpoolSystem

/// Seals and opens the pieces of one generation.
struct PieceSealer: Sendable {
    private let cipher: Cipher
    private let binding: PieceBinding
    private let random: any RandomSource

    init(keys: MediaKeys, keyHash: [UInt8], generation: GenerationID, random: any RandomSource) {
        cipher = keys.cipher
        binding = PieceBinding(store: keys.storeID, resource: keyHash, generation: generation.rawValue)
        self.random = random
    }

    /// Seals the bytes of a piece into `ciphertext`, with a new nonce.
    func seal(
        _ plaintext: UnsafeRawBufferPointer, at offset: Int64, into ciphertext: UnsafeMutableRawBufferPointer
    ) -> Seal {
        var seal = Seal(random: random)
        let unfinished = seal
        unfinished.withNonce { nonce in
            binding.withBytes(offset, offset + Int64(plaintext.count)) { associated in
                seal.setTag { tag in
                    cipher.seal(plaintext, into: ciphertext, nonce: nonce, authenticating: associated, tag: tag)
                }
            }
        }
        return seal
    }

    /// Opens a piece in place. Returns false when its bytes do not match the seal, and overwrites
    /// them with zeros.
    func open(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64, _ seal: Seal) -> Bool {
        let isGenuine = seal.withNonce { nonce in
            seal.withTag { tag in
                binding.withBytes(offset, offset + Int64(bytes.count)) { associated in
                    cipher.open(UnsafeRawBufferPointer(bytes), into: bytes, nonce: nonce, authenticating: associated, tag: tag)
                }
            }
        }
        // Forged bytes must not reach a caller.
        if !isGenuine { bytes.initializeMemory(as: UInt8.self, repeating: 0) }
        return isGenuine
    }
}
