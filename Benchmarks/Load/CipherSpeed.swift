import COpenSSL
import SpoolStore

/// The time that OpenSSL itself needs to open sealed bytes, without the project's code: blocks of
/// 64 KiB in the CPU's cache, one after the other, each with its nonce and 72 bytes of associated
/// data.
final class CipherSpeed {
    private let context: OpaquePointer
    private let block: UnsafeMutableRawPointer
    private var tag = [UInt8](repeating: 0, count: 16)
    private let nonce = [UInt8](repeating: 7, count: 12)
    private let associated = [UInt8](repeating: 9, count: 72)

    static let blockBytes = 64 * 1024

    init(_ algorithm: CipherAlgorithm) throws {
        guard let context = EVP_CIPHER_CTX_new(), let sealing = EVP_CIPHER_CTX_new() else { throw BenchmarkError("no memory for a cipher") }
        defer { EVP_CIPHER_CTX_free(sealing) }
        self.context = context
        block = .allocate(byteCount: 2 * Self.blockBytes, alignment: 4096)
        block.initializeMemory(as: UInt8.self, repeating: 1, count: 2 * Self.blockBytes)
        let cipher = algorithm == .aes256GCM ? EVP_aes_256_gcm() : EVP_chacha20_poly1305()
        let key = [UInt8](repeating: 3, count: 32)
        guard EVP_CipherInit_ex(context, cipher, nil, key, nil, 0) == 1, EVP_CipherInit_ex(sealing, cipher, nil, key, nil, 1) == 1,
            run(sealing, from: block, to: block), EVP_CIPHER_CTX_ctrl(sealing, EVP_CTRL_AEAD_GET_TAG, 16, &tag) == 1
        else { throw BenchmarkError("OpenSSL could not seal") }
    }

    deinit {
        EVP_CIPHER_CTX_free(context)
        block.deallocate()
    }

    /// Returns the CPU seconds for `bytes` bytes.
    func seconds(for bytes: Int64) throws -> Double {
        let start = ownCPUNanoseconds()
        for _ in 0..<bytes / Int64(Self.blockBytes) {
            guard run(context, from: block, to: block + Self.blockBytes, isOpening: true)
            else { throw BenchmarkError("OpenSSL could not open what it sealed") }
        }
        return Double(ownCPUNanoseconds() - start) / 1e9
    }

    private func run(_ context: OpaquePointer, from input: UnsafeRawPointer, to output: UnsafeMutableRawPointer, isOpening: Bool = false)
        -> Bool
    {
        var count: Int32 = 0
        let output = output.assumingMemoryBound(to: UInt8.self)
        return EVP_CipherInit_ex(context, nil, nil, nil, nonce, -1) == 1
            && EVP_CipherUpdate(context, nil, &count, associated, Int32(associated.count)) == 1
            && EVP_CipherUpdate(context, output, &count, input.assumingMemoryBound(to: UInt8.self), Int32(Self.blockBytes)) == 1
            && (!isOpening || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, &tag) == 1)
            && EVP_CipherFinal_ex(context, output + Self.blockBytes - 16, &count) == 1
    }
}
