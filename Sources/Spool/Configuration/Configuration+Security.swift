public import SpoolOrigin
public import SpoolStore

extension Configuration {
    /// Encryption, file protection and the addresses that names may lead to.
    public struct Security: Sendable {
        /// Encrypts everything that is stored: media, names, URLs and headers. Nil makes a plain
        /// store. A store is plain or encrypted from its creation on (docs/encryption.md).
        public var encryption: EncryptionOptions?
        /// When the system lets stored media be read; on iOS, tvOS and visionOS. With the default,
        /// music plays while the screen is locked.
        public var fileProtection = FileProtection.completeUntilFirstUserAuthentication
        /// Whether backups leave out the store; on Apple's systems. The default is true, because
        /// stored bytes can be fetched again. The whole directory of the store is marked, so use a
        /// directory for the store alone.
        public var isExcludedFromBackup = true
        /// Whether a public host name may lead to a private address. The default allows it, for apps
        /// that choose their URLs themselves. Where others choose the URLs, as with `spool serve`, a
        /// name whose owner points it at a private address would open that network to them.
        public var privateNames = PrivateNames.allowed

        /// Creates the default settings.
        public init() {}
    }
}
