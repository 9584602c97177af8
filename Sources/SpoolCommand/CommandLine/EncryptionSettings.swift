import SpoolStore
import SpoolSystem

/// The flags of every command that opens an encrypted store.
///
/// A key is never on the command line, where every user of the machine could see it (`ps`). It is
/// in a file or in the environment.
struct EncryptionSettings {
    static let keyFile = Flag(
        "key-file", takes: "FILE", environment: "SPOOL_KEY_FILE",
        help: "The key of an encrypted store, 32 bytes or 64 hexadecimal digits that only you may read. A new store is encrypted with it.")
    static let passphraseFile = Flag(
        "passphrase-file", takes: "FILE", environment: "SPOOL_PASSPHRASE_FILE",
        help: "The same by a passphrase: the first line of FILE, or the variable SPOOL_PASSPHRASE.")
    static let cipher = Flag(
        "cipher", takes: "NAME", environment: "SPOOL_CIPHER", words: ["chacha20-poly1305", "aes-256-gcm"],
        help: "The cipher of a new encrypted store: 'chacha20-poly1305' (the default) or 'aes-256-gcm'.")

    static let all = [keyFile, passphraseFile, cipher]

    private let secret: Secret?
    /// The cipher of the command line, or nil.
    let algorithm: CipherAlgorithm?
    /// The key, after the first read. A pipe returns it only once, and some commands open the store
    /// twice.
    private let provider = Locked<(any KeyProvider)?>(nil)

    init(_ arguments: Arguments) throws(UsageError) {
        // A command without these flags opens no store of the user.
        secret = try Secret(arguments, keyFile: Self.keyFile, passphraseFile: Self.passphraseFile, variable: "SPOOL_PASSPHRASE")
        algorithm = try Self.algorithm(arguments)
        if arguments.isGiven(Self.cipher), secret == nil {
            throw arguments.invalid(Self.cipher, "needs a key: \(Self.keyFile.spelling) or \(Self.passphraseFile.spelling)")
        }
    }

    /// Returns the options for opening the store, or nil without a key. Reads the key file.
    func options() throws(Failure) -> EncryptionOptions? {
        guard let secret else { return nil }
        let provider = if let known = provider.withLock({ $0 }) { known } else { try secret.provider() }
        self.provider.withLock { $0 = provider }
        return EncryptionOptions(keyProvider: provider, algorithm: algorithm ?? .chaCha20Poly1305)
    }

    /// Returns the cipher of the command line, or nil.
    static func algorithm(_ arguments: Arguments) throws(UsageError) -> CipherAlgorithm? {
        try arguments.choice(cipher, among: ["chacha20-poly1305": .chaCha20Poly1305, "aes-256-gcm": .aes256GCM])
    }

    /// A place that a key comes from.
    enum Secret {
        case keyFile(String)
        case passphraseFile(String)
        case passphrase(String)

        /// Reads two flags and a variable. The command line has precedence over the environment,
        /// and that over the files of settings.
        ///
        /// - Returns: The secret, or nil when none is given.
        /// - Throws: `UsageError` when two secrets are given.
        init?(_ arguments: Arguments, keyFile: Flag, passphraseFile: Flag, variable: String) throws(UsageError) {
            guard arguments.syntax.flags.contains(where: { $0.name == keyFile.name }) else { return nil }
            let passphrase = Environment[variable].flatMap { $0.isEmpty ? nil : $0 }
            let all: [(level: Int, name: String, secret: Secret)?] = [
                arguments[keyFile].map { (arguments.level(keyFile), arguments.name(keyFile), .keyFile($0)) },
                arguments[passphraseFile].map { (arguments.level(passphraseFile), arguments.name(passphraseFile), .passphraseFile($0)) },
                passphrase.map { (1, variable, .passphrase($0)) },
            ]
            let given = all.compactMap(\.self)
            let found = given.filter { $0.level == given.map(\.level).min() }
            if found.count > 1 {
                let names = found.map(\.name).joined(separator: " and ")
                throw UsageError("\(names) are two keys; give one", command: arguments.syntax.name)
            }
            guard let only = found.first else { return nil }
            self = only.secret
        }

        /// Returns the key, after reading its file.
        func provider() throws(Failure) -> any KeyProvider {
            switch self {
            case .keyFile(let path):
                guard let key = try SecretFile.read(path, Self.key) else {
                    throw Failure(
                        "\(path) is not a key: give 32 bytes, or 64 hexadecimal digits; 'head -c 32 /dev/urandom' makes one", .usage)
                }
                return .key(key)
            case .passphraseFile(let path):
                // The first line only, because editors end a file with a newline.
                let provider = try SecretFile.read(path) { bytes in
                    PassphraseKeyProvider(utf8: SecretFile.firstLine(of: bytes))
                }
                guard let provider else {
                    throw Failure("the first line of \(path) is not a passphrase: it is empty, or not UTF-8", .usage)
                }
                return provider
            case .passphrase(let passphrase): return .passphrase(passphrase)
            }
        }

        /// Parses a key of 32 bytes, or of 64 hexadecimal digits with an optional newline.
        private static func key(_ bytes: UnsafeRawBufferPointer) -> EncryptionKey? {
            if bytes.count == EncryptionKey.byteCount { return EncryptionKey(bytes: bytes) }
            let digits = bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...]
            guard digits.count == 2 * EncryptionKey.byteCount, digits.allSatisfy({ digit($0) != nil }) else { return nil }
            // No array in between, so that the bytes exist in the key's own memory only.
            return EncryptionKey { key in
                for (index, place) in zip(key.indices, stride(from: digits.startIndex, to: digits.endIndex, by: 2)) {
                    key[index] = (digit(digits[place]) ?? 0) << 4 | (digit(digits[place + 1]) ?? 0)
                }
            }
        }

        private static func digit(_ byte: UInt8) -> UInt8? {
            Character(Unicode.Scalar(byte)).hexDigitValue.map { UInt8($0) }
        }
    }
}

extension Arguments {
    /// The precedence of a flag's source: 0 for the command line, 1 for the environment, 2 for a
    /// file.
    fileprivate func level(_ flag: Flag) -> Int {
        switch source(of: flag) {
        case .variable?: 1
        case .file?: 2
        default: 0
        }
    }

    /// The name of a flag in its source.
    fileprivate func name(_ flag: Flag) -> String {
        switch source(of: flag) {
        case .variable(let name)?: name
        case .file(let path, let line)?: "'\(flag.name)' of \(path):\(line)"
        default: flag.spelling
        }
    }
}
