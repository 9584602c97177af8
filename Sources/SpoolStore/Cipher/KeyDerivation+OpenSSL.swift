#if os(Linux)
import COpenSSL

// The functions of OpenSSL. They can't fail for the sizes used here.

extension KeyDerivation {
    static func platformHKDF(
        _ key: UnsafeRawBufferPointer, salt: [UInt8], info: [UInt8], into output: UnsafeMutableRawBufferPointer
    ) {
        guard let context = EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nil) else { fatalError("OpenSSL has no HKDF") }
        defer { EVP_PKEY_CTX_free(context) }
        var count = output.count
        let isDone =
            EVP_PKEY_derive_init(context) == 1
            && EVP_PKEY_CTX_set_hkdf_md(context, EVP_sha256()) == 1
            && EVP_PKEY_CTX_set1_hkdf_salt(context, salt, Int32(salt.count)) == 1
            && EVP_PKEY_CTX_set1_hkdf_key(context, key.bindMemory(to: UInt8.self).baseAddress, Int32(key.count)) == 1
            && EVP_PKEY_CTX_add1_hkdf_info(context, info, Int32(info.count)) == 1
            && EVP_PKEY_derive(context, output.bindMemory(to: UInt8.self).baseAddress, &count) == 1
        precondition(isDone && count == output.count, "OpenSSL could not derive a key")
    }

    static func platformPBKDF2(
        _ passphrase: UnsafeRawBufferPointer, salt: [UInt8], iterations: Int, into output: UnsafeMutableRawBufferPointer
    ) {
        let code = PKCS5_PBKDF2_HMAC(
            passphrase.bindMemory(to: CChar.self).baseAddress, Int32(passphrase.count), salt, Int32(salt.count), Int32(iterations),
            EVP_sha256(), Int32(output.count), output.bindMemory(to: UInt8.self).baseAddress)
        precondition(code == 1, "OpenSSL could not derive a key from a passphrase")
    }
}
#endif
