import Spool
import SpoolCore
import SpoolOrigin
import SpoolTiers

/// The flags of a server with a bucket for finished resources, and the credentials for it.
///
/// The secret key is never on the command line, where every user of the machine could see it (`ps`).
/// It is in a file or in the environment.
struct BucketSettings {
    static let bucket = Flag(
        "bucket", takes: "URL", environment: "SPOOL_BUCKET",
        help:
            "An S3-compatible bucket that holds finished resources for all servers, such as https://s3.example.com/media. It is asked before"
            + " origins, which still confirm each version. Only what needs no credentials is stored there. Not with an encrypted store.")
    static let region = Flag(
        "bucket-region", takes: "REGION", environment: "SPOOL_BUCKET_REGION", help: "The region of the bucket; us-east-1 by default.")
    static let keyFile = Flag(
        "bucket-key-file", takes: "FILE", environment: "SPOOL_BUCKET_KEY_FILE",
        help: "The access key of the bucket, its secret key, and perhaps a session token, a line each, in a file that only you may read;"
            + " by default AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.")

    static let all = [bucket, region, keyFile]

    static let defaultRegion = "us-east-1"

    /// The bucket, or nil without one.
    let address: BucketAddress?

    init(_ arguments: Arguments) throws(UsageError) {
        guard let text = arguments[Self.bucket] else {
            address = nil
            return
        }
        let region = try arguments.value(Self.region, expected: "letters, digits and '-'") { Self.isRegion($0) ? $0 : nil }
        let signature = try Self.signature(arguments, region: region ?? Self.defaultRegion)
        guard let address = BucketAddress(text, signature: signature) else {
            throw arguments.invalid(Self.bucket, "is not a URL like https://s3.example.com/media")
        }
        try Self.checkLibrary(arguments)
        if try EncryptionSettings.Secret(
            arguments, keyFile: EncryptionSettings.keyFile, passphraseFile: EncryptionSettings.passphraseFile, variable: "SPOOL_PASSPHRASE")
            != nil
        {
            throw arguments.invalid(
                Self.bucket, "can't go with an encrypted store, because it would hold the same bytes unencrypted; leave one of the two out")
        }
        self.address = address
    }

    /// Throws when nothing in this process can sign the requests.
    private static func checkLibrary(_ arguments: Arguments) throws(UsageError) {
        #if os(Linux)
        guard CurlLibrary.canSign else {
            throw arguments.invalid(bucket, "needs libcurl 7.88 or later, and this is \(CurlLibrary.version)")
        }
        #else
        throw arguments.invalid(bucket, "is not known on this system: its requests are signed by libcurl")
        #endif
    }

    private static func isRegion(_ text: String) -> Bool {
        !text.isEmpty && text.allSatisfy { ("0"..."9").contains($0) || ("a"..."z").contains($0) || $0 == "-" }
    }

    private static func signature(_ arguments: Arguments, region: String) throws(UsageError) -> RequestSignature {
        let key = { (name: String) in Environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        if let path = arguments[keyFile] {
            let lines = try lines(of: path, arguments)
            guard (2...3).contains(lines.count) else {
                throw arguments.invalid(
                    keyFile, "names a file with \(lines.count) lines; give the access key, the secret key, and perhaps a token")
            }
            return RequestSignature(
                region: region, accessKey: lines[0], secretKey: lines[1], sessionToken: lines.count > 2 ? lines[2] : nil)
        }
        guard let accessKey = key("AWS_ACCESS_KEY_ID"), let secretKey = key("AWS_SECRET_ACCESS_KEY") else {
            throw arguments.invalid(
                bucket, "needs credentials: \(keyFile.spelling) FILE, or the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
        }
        return RequestSignature(region: region, accessKey: accessKey, secretKey: secretKey, sessionToken: key("AWS_SESSION_TOKEN"))
    }

    /// Returns the lines of the file that have a text.
    private static func lines(of path: String, _ arguments: Arguments) throws(UsageError) -> [String] {
        let text = try arguments.text(of: path, keyFile, holding: "the keys of the bucket")
        // Neither a key nor a token has a space.
        return text.split(whereSeparator: \.isNewline).map { $0.filter { $0 != " " && $0 != "\t" } }.filter { !$0.isEmpty }
    }
}
