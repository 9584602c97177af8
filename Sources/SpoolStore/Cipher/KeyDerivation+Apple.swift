#if canImport(CryptoKit)
import CommonCrypto
import CryptoKit

// The functions of CryptoKit and CommonCrypto. They can't fail for the sizes used here.

extension KeyDerivation {
    static func platformHKDF(
        _ key: UnsafeRawBufferPointer, salt: [UInt8], info: [UInt8], into output: UnsafeMutableRawBufferPointer
    ) {
        let derived = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: key), salt: salt, info: info, outputByteCount: output.count)
        derived.withUnsafeBytes { output.copyMemory(from: $0) }
    }

    static func platformPBKDF2(
        _ passphrase: UnsafeRawBufferPointer, salt: [UInt8], iterations: Int, into output: UnsafeMutableRawBufferPointer
    ) {
        let status = CCKeyDerivationPBKDF(
            CCPBKDFAlgorithm(kCCPBKDF2), passphrase.bindMemory(to: CChar.self).baseAddress, passphrase.count, salt, salt.count,
            CCPseudoRandomAlgorithm(kCCPRFHmacAlgSHA256), UInt32(iterations), output.bindMemory(to: UInt8.self).baseAddress, output.count)
        precondition(status == Int32(kCCSuccess), "CommonCrypto could not derive a key from a passphrase")
    }
}
#endif
