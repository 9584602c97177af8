import Spool

#if os(Linux)
import COpenSSL
#else
import CommonCrypto
#endif

/// AES-128 in counter mode, as an app would write it to play media that its origin encrypted (NIST
/// SP 800-38A §6.5).
///
/// The counter block is eight bytes of nonce and the number of the cipher's block, big-endian, so
/// that any offset can be reached at once.
struct CounterModeTransform: ContentTransform {
    let key: [UInt8]
    let nonce: [UInt8]

    struct Failure: Error {}

    func transform(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64, of key: ResourceKey) throws {
        // The key stream between the start of the block and the first byte is made and dropped.
        var skipped = [UInt8](repeating: 0, count: Int(offset % 16))
        try withCipher(startingAt: UInt64(offset / 16)) { change in
            try skipped.withUnsafeMutableBytes { try change($0) }
            try change(bytes)
        }
    }

    /// The 16 bytes of the counter for this block.
    func counterBlock(_ number: UInt64) -> [UInt8] {
        nonce + (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * (7 - UInt64($0)))) }
    }

    #if os(Linux)
    private func withCipher(startingAt block: UInt64, _ body: ((UnsafeMutableRawBufferPointer) throws -> Void) throws -> Void) throws {
        guard let context = EVP_CIPHER_CTX_new() else { throw Failure() }
        defer { EVP_CIPHER_CTX_free(context) }
        guard EVP_EncryptInit_ex(context, EVP_aes_128_ctr(), nil, key, counterBlock(block)) == 1 else { throw Failure() }
        try body { buffer in
            let start = buffer.bindMemory(to: UInt8.self).baseAddress
            var count: Int32 = 0
            guard buffer.isEmpty || EVP_EncryptUpdate(context, start, &count, start, Int32(buffer.count)) == 1 else { throw Failure() }
        }
    }
    #else
    private func withCipher(startingAt block: UInt64, _ body: ((UnsafeMutableRawBufferPointer) throws -> Void) throws -> Void) throws {
        var cryptor: CCCryptorRef?
        let status = CCCryptorCreateWithMode(
            CCOperation(kCCEncrypt), CCMode(kCCModeCTR), CCAlgorithm(kCCAlgorithmAES), CCPadding(ccNoPadding), counterBlock(block), key,
            key.count, nil, 0, 0, CCModeOptions(kCCModeOptionCTR_BE), &cryptor)
        guard status == kCCSuccess, let cryptor else { throw Failure() }
        defer { CCCryptorRelease(cryptor) }
        try body { buffer in
            var moved = 0
            guard
                buffer.isEmpty
                    || CCCryptorUpdate(cryptor, buffer.baseAddress, buffer.count, buffer.baseAddress, buffer.count, &moved) == kCCSuccess
            else { throw Failure() }
        }
    }
    #endif
}
