#if canImport(Security)
import Foundation
import Security
public import SpoolStore
import SpoolSystem

/// A random key in the keychain of the system, created there if it is missing.
///
/// The key is readable after the first unlock, so that music goes on while the screen is locked,
/// and on this device only.
public struct KeychainKeyProvider: KeyProvider {
    private let service: String
    private let account: String

    /// Creates a provider.
    ///
    /// - Parameters:
    ///   - service: The name of the app or of its group of keys, for example the bundle identifier.
    ///   - account: The name of the key, one for each cache.
    public init(service: String, account: String = "spool") {
        self.service = service
        self.account = account
    }

    /// An error of the keychain when it reads or stores the key.
    public struct Failure: Error, Hashable, CustomStringConvertible {
        /// The `OSStatus` that Security returned, for example `errSecInteractionNotAllowed`
        /// (-25308).
        public var status: Int32
        /// The status in words.
        public var description: String { "the keychain answered \(status)" }
    }

    /// Returns the key from the keychain, and creates it there if it is missing.
    ///
    /// - Throws: `Failure` if the keychain returns an error.
    public func masterKey(_ parameters: KeyParameters) throws -> EncryptionKey {
        if let key = try storedKey() { return key }
        var item = query
        item[kSecValueData] = Data(SystemRandom().bytes(EncryptionKey.byteCount))
        item[kSecAttrAccessible] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
        let status = SecItemAdd(item as CFDictionary, nil)
        // Another process may have been faster; its key counts then.
        guard status == errSecSuccess || status == errSecDuplicateItem else { throw Failure(status: status) }
        guard let key = try storedKey() else { throw Failure(status: errSecItemNotFound) }
        return key
    }

    private func storedKey() throws -> EncryptionKey? {
        var query = query
        query[kSecReturnData] = true
        query[kSecMatchLimit] = kSecMatchLimitOne
        var result: CFTypeRef?
        switch SecItemCopyMatching(query as CFDictionary, &result) {
        case errSecSuccess:
            guard let data = result as? Data, let key = EncryptionKey(bytes: data) else { throw Failure(status: errSecDecode) }
            return key
        case errSecItemNotFound: return nil
        case let status: throw Failure(status: status)
        }
    }

    private var query: [CFString: Any] {
        [kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: account]
    }
}
#endif
