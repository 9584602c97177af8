#if os(Linux)
import COpenSSL
#else
import CryptoKit
#endif

/// SHA-256 by the platform's cryptography. The store uses it for names only.
enum SHA256Digest {
    /// The size of a digest, in bytes.
    static let byteCount = 32

    /// Returns the digest of a string's UTF-8.
    static func of(_ string: String) -> [UInt8] {
        #if os(Linux)
        var string = string
        return [UInt8](unsafeUninitializedCapacity: byteCount) { digest, count in
            let code = string.withUTF8 { EVP_Digest($0.baseAddress, $0.count, digest.baseAddress, nil, EVP_sha256(), nil) }
            precondition(code == 1, "OpenSSL has no SHA-256")
            count = byteCount
        }
        #else
        return [UInt8](SHA256.hash(data: [UInt8](string.utf8)))
        #endif
    }
}

extension [UInt8] {
    /// The bytes as two lower-case hexadecimal digits each.
    var hexadecimal: String {
        let digits = Array<UInt8>("0123456789abcdef".utf8)
        return String(unsafeUninitializedCapacity: count * 2) { output in
            for (index, byte) in enumerated() {
                output[index * 2] = digits[Int(byte >> 4)]
                output[index * 2 + 1] = digits[Int(byte & 0x0F)]
            }
            return count * 2
        }
    }
}
