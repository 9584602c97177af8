#if os(Linux)
import COpenSSL
#else
import CryptoKit
#endif

/// SHA-256 by the platform's cryptography. The store uses it for names, and a bucket for the checks
/// of what it holds.
package enum SHA256Digest {
    /// The size of a digest, in bytes.
    package static let byteCount = 32

    /// Returns the digest of a string's UTF-8.
    package static func of(_ string: String) -> [UInt8] {
        var string = string
        return string.withUTF8 { of(UnsafeRawBufferPointer($0)) }
    }

    /// Returns the digest of bytes.
    package static func of(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        #if os(Linux)
        return [UInt8](unsafeUninitializedCapacity: byteCount) { digest, count in
            let code = EVP_Digest(bytes.baseAddress, bytes.count, digest.baseAddress, nil, EVP_sha256(), nil)
            precondition(code == 1, "OpenSSL has no SHA-256")
            count = byteCount
        }
        #else
        var hash = SHA256()
        hash.update(bufferPointer: bytes)
        return [UInt8](hash.finalize())
        #endif
    }
}

extension [UInt8] {
    /// The bytes as two lower-case hexadecimal digits each.
    package var hexadecimal: String {
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
