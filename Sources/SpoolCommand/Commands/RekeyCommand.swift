import Spool
import SpoolCore
import SpoolStore
import SpoolSystem

/// `spool rekey`: changes the key of a store, or encrypts a plain one.
struct RekeyCommand: Command {
    static let newKeyFile = Flag(
        "new-key-file", takes: "FILE", environment: "SPOOL_NEW_KEY_FILE",
        help: "The new key: 32 bytes or 64 hexadecimal digits that only you may read.")
    static let newPassphraseFile = Flag(
        "new-passphrase-file", takes: "FILE", environment: "SPOOL_NEW_PASSPHRASE_FILE",
        help: "The new passphrase: the first line of FILE, or the variable SPOOL_NEW_PASSPHRASE.")
    static let cipher = Flag(
        "cipher", takes: "NAME", words: ["chacha20-poly1305", "aes-256-gcm"],
        help: "The cipher for media from now on, 'chacha20-poly1305' or 'aes-256-gcm'; by default the present one."
    )

    static let syntax = CommandSyntax(
        "rekey", "Encrypt a store, or give it another key",
        discussion: [
            "Once the command shows progress, only the new key opens the store. The command then seals one resource after the other anew,"
                + " which takes room for a second copy of the largest one. No server may use the store meanwhile.",
            "Ctrl-C stops it without loss. The same command continues.",
        ],
        flags: [
            CacheSettings.directory, EncryptionSettings.keyFile, EncryptionSettings.passphraseFile, newKeyFile, newPassphraseFile, cipher,
        ],
        examples: [
            .init("spool rekey --new-key-file new.key", "Encrypt a plain store."),
            .init("spool rekey --key-file old.key --new-key-file new.key", "Seal the store with another key."),
        ])

    private let settings: CacheSettings
    private let secret: EncryptionSettings.Secret

    init(_ arguments: Arguments) throws(UsageError) {
        settings = try CacheSettings(arguments)
        let secret = try EncryptionSettings.Secret(
            arguments, keyFile: Self.newKeyFile, passphraseFile: Self.newPassphraseFile, variable: "SPOOL_NEW_PASSPHRASE")
        guard let secret else {
            throw UsageError(
                "there is no new key; give \(Self.newKeyFile.spelling) or \(Self.newPassphraseFile.spelling)", command: Self.syntax.name)
        }
        self.secret = secret
    }

    func run() async throws -> ExitCode {
        let interruption = try await Interruption.install()
        let provider = try secret.provider()
        let directory = try settings.directory()
        guard let cache = try open(EncryptionOptions(keyProvider: provider)) else { throw Failure.noStore(directory) }
        return try await cache.closing {
            guard cache.store.isWritable else {
                throw Failure("another process has the store at \(directory): stop it first", .inputOutput)
            }
            return try await rotate(cache, to: provider, interruption)
        }
    }

    /// Opens the store by its present key, or without one if it is plain. Opens it by the new key
    /// when an earlier run has changed the key already.
    private func open(_ new: EncryptionOptions) throws -> MediaCache? {
        do { return try settings.openExisting() } catch {
            if let error = error as? CacheError, error.cause as? StoreError != .key(.wrong) { throw error }
            do { return try settings.openExisting(by: new) } catch _ as CacheError { throw error }
        }
    }

    private func rotate(_ cache: MediaCache, to provider: any KeyProvider, _ interruption: Interruption) async throws -> ExitCode {
        let line = ProgressBoard(names: ["sealing anew"], total: nil)
        let last = Locked(KeyRotationProgress())
        try await interruption.showing(line, interrupted: Self.stopped(last.withLock { $0 })) {
            try await interruption.cancelling { [algorithm = settings.encryption.algorithm] in
                try await cache.rotateKey(to: provider, algorithm: algorithm) { progress in
                    last.withLock { $0 = progress }
                    line.update(done: progress.resealedBytes, of: progress.totalBytes)
                }
            }
        }
        try OutputStream.output.write("the store has the new key: \(Self.amount(last.withLock { $0 })) sealed anew\n")
        return .success
    }

    private static func stopped(_ progress: KeyRotationProgress) -> String {
        "stopped after \(amount(progress)) of \(ByteCount.text(progress.totalBytes)); the store opens with the new key only, and"
            + " the same command goes on from here"
    }

    private static func amount(_ progress: KeyRotationProgress) -> String {
        "\(progress.resealedResources.counted("resource")), \(ByteCount.text(progress.resealedBytes))"
    }
}
