import SpoolStore
import SpoolSystem

/// Names that mean nothing elsewhere. Only a process with the key can make or recognise them.
///
/// The names in `Via` are those of this process. Two processes on one store fetch through each
/// other, and must not take each other's requests for a loop. Proofs, names of users and the secret
/// of pages belong to the store: a player that has a playlist goes on after a restart.
package struct Pseudonyms: Sendable {
    private static let prefix = "spool-"
    /// The number of digits of each half of a name: 64 bits.
    private static let digits = 16

    private let code: MessageCode
    /// The code of names that outlive the process.
    private let lasting: MessageCode

    /// Creates names.
    ///
    /// - Parameter secret: The secret of the store. Empty for a store that ends with the process.
    init(random: any RandomSource, secret: [UInt8]) {
        code = MessageCode(key: Self.randomKey(random))
        lasting = MessageCode(key: secret.isEmpty ? Self.randomKey(random) : KeyedDigest.key("spool names", secret))
    }

    private static func randomKey(_ random: any RandomSource) -> EncryptionKey {
        EncryptionKey { output in
            for offset in stride(from: 0, to: output.count, by: 8) {
                output.storeBytes(of: random.next(), toByteOffset: offset, as: UInt64.self)
            }
        }
    }

    /// Returns the value of `Via` in requests to `origin`, a scheme and authority (RFC 9110
    /// §7.6.3).
    ///
    /// Each origin gets another name, so two origins can't find out that their requests came from
    /// the same place. A name is half of the origin's HMAC, followed by half of the HMAC of that
    /// half. The second half makes it recognisable whatever the origin was.
    package func via(for origin: String) -> String {
        let half = half(of: "origin \(origin)")
        return "1.1 \(Self.prefix)\(half)\(self.half(of: "name \(half)"))"
    }

    /// Returns whether a value of `Via` contains a name of this process.
    package func isNamed(in value: String) -> Bool {
        value.split { $0 == " " || $0 == "," || $0 == "\t" }.contains { word in
            guard Self.isName(word) else { return false }
            let name = word.dropFirst(Self.prefix.count)
            return name.suffix(Self.digits) == half(of: "name \(name.prefix(Self.digits))")
        }
    }

    /// Returns whether a word has the form of a name, of this process or another one.
    package static func isName(_ word: Substring) -> Bool {
        word.hasPrefix(prefix) && word.utf8.count == prefix.utf8.count + 2 * digits
            && word.utf8.dropFirst(prefix.utf8.count).allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    /// The key of the proofs that a process with this store named a URL to a client, 32 bytes.
    package var proofKey: [UInt8] { lasting.of("child".utf8) }

    /// The secret in the path of a proxy's pages, 128 bits. It stays, because the settings of a
    /// monitor contain it.
    package var page: String { half(of: "page", lasting) + half(of: "second half of page", lasting) }

    /// Returns a name for the user information of a URL.
    func user(_ userinfo: some StringProtocol) -> String { half(of: "user \(userinfo)", lasting) }

    private func half(of text: String, _ other: MessageCode? = nil) -> String {
        Array((other ?? code).of(text.utf8).prefix(Self.digits / 2)).hexadecimal
    }
}
