import SpoolStore
import Testing

@Suite struct CipherTests {
    // MARK: Published vectors

    @Test func `a passphrase gives one key as text or as UTF-8 bytes`() throws {
        let parameters = KeyParameters(salt: [1, 2, 3], iterations: 2)
        let text = PassphraseKeyProvider("schlüssel").masterKey(parameters)
        let bytes = try #require(PassphraseKeyProvider(utf8: Array("schlüssel".utf8))).masterKey(parameters)
        #expect(text.withBytes { Array($0) } == bytes.withBytes { Array($0) })
        #expect(PassphraseKeyProvider(utf8: [] as [UInt8]) == nil)
        #expect(PassphraseKeyProvider(utf8: [0x61, 0xFF]) == nil)
    }

    @Test func `ChaCha20-Poly1305 matches RFC 8439 section 2.8.2`() throws {
        let text = "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it."
        let sealed = try seal(
            .chaCha20Poly1305, Array(text.utf8), key: Array(0x80...0x9F), nonce: [7, 0, 0, 0] + Array(0x40...0x47),
            associated: bytes("50515253c0c1c2c3c4c5c6c7"))
        #expect(
            sealed.bytes
                == bytes(
                    """
                    d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b\
                    1a71de0a9e060b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc\
                    3ff4def08e4b7a9de576d26586cec64b6116
                    """))
        #expect(sealed.tag == bytes("1ae10b594f09e26a7e902ecbd0600691"))
    }

    @Test func `AES-256-GCM matches test case 16 of its authors`() throws {
        let sealed = try seal(
            .aes256GCM,
            bytes(
                """
                d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72\
                1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39
                """),
            key: bytes("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"),
            nonce: bytes("cafebabefacedbaddecaf888"), associated: bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2"))
        #expect(
            sealed.bytes
                == bytes(
                    """
                    522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa\
                    8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662
                    """))
        #expect(sealed.tag == bytes("76fc6ece0f4e1768cddf8853bb2d551b"))
    }

    @Test func `HMAC-SHA-256 matches test case 1 of RFC 4231`() throws {
        // `hmac` itself pads a key shorter than a block with zeros.
        let key = try #require(EncryptionKey(bytes: [UInt8](repeating: 0x0B, count: 20) + [UInt8](repeating: 0, count: 12)))
        let code = MessageCode(key: key).of("Hi There".utf8)
        #expect(code == bytes("b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"))
    }

    @Test func `HKDF equals extract and expand of RFC 5869 written with HMAC`() throws {
        let master = try #require(EncryptionKey(bytes: Array(0..<32)))
        let salt = [UInt8](32..<48)
        let saltKey = try #require(EncryptionKey(bytes: salt + [UInt8](repeating: 0, count: 16)))
        let extracted = try #require(EncryptionKey(bytes: MessageCode(key: saltKey).of(Array(0..<32))))
        let expected = MessageCode(key: extracted).of(Array("data".utf8) + [1])
        #expect(contents(KeyDerivation.derive(from: master, salt: salt, info: "data")) == expected)
    }

    @Test(arguments: [
        ("passwd", "salt", 1, "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc"),
        ("Password", "NaCl", 80_000, "4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56"),
    ])
    func `PBKDF2 matches RFC 7914 section 11`(passphrase: String, salt: String, iterations: Int, expected: String) {
        let key = Array(passphrase.utf8).withUnsafeBytes {
            KeyDerivation.derive(fromPassphrase: $0, salt: Array(salt.utf8), iterations: iterations)
        }
        #expect(contents(key) == bytes(expected))
    }

    // MARK: Required properties

    @Test(arguments: CipherAlgorithm.allCases)
    func `sealed bytes open again, also in the same memory`(algorithm: CipherAlgorithm) throws {
        let cipher = Cipher(algorithm, key: try key())
        for count in [0, 1, 15, 16, 17, 4095, 65_536] {
            let plaintext = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            let sealed = seal(cipher, plaintext, nonce: Self.nonce, associated: [1, 2, 3])
            #expect(count == 0 || sealed.bytes != plaintext)
            #expect(open(cipher, sealed.bytes, nonce: Self.nonce, associated: [1, 2, 3], tag: sealed.tag) == plaintext)
        }
    }

    @Test(arguments: CipherAlgorithm.allCases)
    func `a changed bit is rejected, wherever it is`(algorithm: CipherAlgorithm) throws {
        let cipher = Cipher(algorithm, key: try key())
        let plaintext = [UInt8](repeating: 42, count: 40)
        let sealed = seal(cipher, plaintext, nonce: Self.nonce, associated: [1, 2, 3])
        for bit in 0..<(40 * 8) {
            #expect(open(cipher, sealed.bytes.flipping(bit), nonce: Self.nonce, associated: [1, 2, 3], tag: sealed.tag) == nil)
        }
        for bit in 0..<(16 * 8) {
            #expect(open(cipher, sealed.bytes, nonce: Self.nonce, associated: [1, 2, 3], tag: sealed.tag.flipping(bit)) == nil)
        }
        for bit in 0..<(12 * 8) {
            #expect(open(cipher, sealed.bytes, nonce: Self.nonce.flipping(bit), associated: [1, 2, 3], tag: sealed.tag) == nil)
        }
        #expect(open(cipher, sealed.bytes, nonce: Self.nonce, associated: [1, 2, 4], tag: sealed.tag) == nil)
        #expect(open(cipher, sealed.bytes, nonce: Self.nonce, associated: [], tag: sealed.tag) == nil)
        let other = Cipher(algorithm, key: try #require(EncryptionKey(bytes: Array(1...32))))
        #expect(open(other, sealed.bytes, nonce: Self.nonce, associated: [1, 2, 3], tag: sealed.tag) == nil)
        // A rejection leaves no state behind in the context.
        #expect(open(cipher, sealed.bytes, nonce: Self.nonce, associated: [1, 2, 3], tag: sealed.tag) == plaintext)
    }

    // MARK: Keys

    @Test func `a key has 32 bytes`() {
        #expect(EncryptionKey(bytes: [UInt8](repeating: 1, count: 31)) == nil)
        #expect(EncryptionKey(bytes: [UInt8](repeating: 1, count: 33)) == nil)
        #expect(EncryptionKey(bytes: [UInt8](repeating: 1, count: 32)) != nil)
    }

    @Test func `printing a key never shows its bytes`() throws {
        let key = try #require(EncryptionKey(bytes: [UInt8](repeating: 0xAB, count: 32)))
        var dumped = ""
        dump(key, to: &dumped)
        for text in ["\(key)", String(reflecting: key), String(describing: [key]), dumped] {
            #expect(!text.contains("171") && !text.lowercased().contains("ab, ") && !text.lowercased().contains("abab"))
            #expect(text.contains("hidden"))
        }
    }

    // MARK: Support

    private static let nonce = [UInt8](0..<12)

    private func key() throws -> EncryptionKey { try #require(EncryptionKey(bytes: Array(0..<32))) }

    private func contents(_ key: EncryptionKey) -> [UInt8] { key.withBytes { Array($0) } }

    private func seal(
        _ algorithm: CipherAlgorithm, _ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], associated: [UInt8]
    ) throws -> (bytes: [UInt8], tag: [UInt8]) {
        let cipher = Cipher(algorithm, key: try #require(EncryptionKey(bytes: key)))
        let sealed = seal(cipher, plaintext, nonce: nonce, associated: associated)
        #expect(open(cipher, sealed.bytes, nonce: nonce, associated: associated, tag: sealed.tag) == plaintext)
        return sealed
    }

    private func seal(
        _ cipher: Cipher, _ plaintext: [UInt8], nonce: [UInt8], associated: [UInt8]
    ) -> (bytes: [UInt8], tag: [UInt8]) {
        var bytes = plaintext
        var tag = [UInt8](repeating: 0, count: CipherAlgorithm.tagBytes)
        bytes.withUnsafeMutableBytes { bytes in
            tag.withUnsafeMutableBytes { tag in
                nonce.withUnsafeBytes { nonce in
                    associated.withUnsafeBytes { associated in
                        cipher.seal(UnsafeRawBufferPointer(bytes), into: bytes, nonce: nonce, authenticating: associated, tag: tag)
                    }
                }
            }
        }
        return (bytes, tag)
    }

    private func open(_ cipher: Cipher, _ bytes: [UInt8], nonce: [UInt8], associated: [UInt8], tag: [UInt8]) -> [UInt8]? {
        var bytes = bytes
        let isGenuine = bytes.withUnsafeMutableBytes { bytes in
            tag.withUnsafeBytes { tag in
                nonce.withUnsafeBytes { nonce in
                    associated.withUnsafeBytes { associated in
                        cipher.open(UnsafeRawBufferPointer(bytes), into: bytes, nonce: nonce, authenticating: associated, tag: tag)
                    }
                }
            }
        }
        return isGenuine ? bytes : nil
    }

    private func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = hexadecimal.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}

extension [UInt8] {
    fileprivate func flipping(_ bit: Int) -> [UInt8] {
        var copy = self
        copy[bit / 8] ^= 1 << UInt8(bit % 8)
        return copy
    }
}
