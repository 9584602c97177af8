package import SpoolCore

/// The answer of a bucket to a request of `spool doctor`, and what it means: a pure value.
package struct BucketAnswer: Hashable, Sendable {
    /// The status.
    package let status: Int
    /// The code in the document of an error, such as `AccessDenied`, or nil.
    package let code: String?
    /// The difference between the clock of the bucket and that of this machine in seconds, or nil.
    package let skewSeconds: Int64?

    /// The largest difference between the clocks that is no warning. S3 refuses 15 minutes.
    private static let comfortableSkewSeconds: Int64 = 300
    /// The most characters of a code. A document of anything else has none.
    private static let codeLimit = 64

    /// Reads an answer.
    ///
    /// - Parameters:
    ///   - head: The head of the answer.
    ///   - body: The beginning of the body.
    ///   - now: The time of this machine.
    package init(_ head: ResponseHead, _ body: [UInt8], now: Timestamp) {
        status = head.status
        code = Self.code(in: String(decoding: body, as: UTF8.self))
        skewSeconds = head.fields[.date].flatMap { HTTPDate.parse($0, now: now) }.map { abs($0.seconds - now.seconds) }
    }

    /// Returns the text of the first element `Code`.
    private static func code(in text: String) -> String? {
        guard let begin = text.firstRange(of: "<Code>") else { return nil }
        let code = text[begin.upperBound...].prefix(codeLimit).prefix { $0 != "<" }
        return code.isEmpty || !code.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) } ? nil : String(code)
    }

    private var text: String { code.map { "\(status) (\($0))" } ?? "\(status)" }

    /// Returns the finding about an answer to the request for an object that does not exist.
    ///
    /// - Parameter name: The bucket, for people.
    package func finding(_ name: String, means: String) -> Finding {
        switch (status, code) {
        case (404, "NoSuchBucket"): .problem("bucket", "\(name): there is no such bucket", advice: "make it, or correct --bucket URL")
        case (200, _), (206, _), (404, _), (416, _): .ok("bucket", "\(name) answers and accepts the key; \(means)")
        default: .problem("bucket", "\(name) answers \(text)", advice: advice)
        }
    }

    /// The advice for a refusal.
    package var advice: String {
        switch (status, code) {
        case (_, "RequestTimeTooSkewed"), (_, "RequestExpired"): "set the clock of this machine (timedatectl): signatures hold for minutes"
        case (_, "InvalidAccessKeyId"): "correct the access key, the first line of --bucket-key-file"
        case (_, "SignatureDoesNotMatch"): "correct the secret key, the second line of --bucket-key-file, and --bucket-region"
        case (_, "ExpiredToken"), (_, "InvalidToken"): "get a new session token"
        case (_, "AuthorizationHeaderMalformed"), (301, _), (307, _), (400, _): "correct --bucket-region, or the host of --bucket URL"
        case (401, _): "correct the keys of --bucket-key-file"
        case (403, _): "give the key the rights to get, head, put and list: without the right to list, a missing object is refused"
        case (500..., _): "ask those who run the bucket; origins are asked meanwhile"
        default: "correct --bucket URL: it leads to something else than an S3-compatible store"
        }
    }

    /// The finding about the clocks, or nil for an answer without a date.
    package var clock: Finding? {
        guard let skewSeconds else { return nil }
        guard skewSeconds > Self.comfortableSkewSeconds else {
            return .ok("bucket clock", "at most \(max(1, skewSeconds)) s away from this machine's")
        }
        return .warning(
            "bucket clock", "\(skewSeconds) s away from this machine's, and a difference of 900 s is refused",
            advice: "set the clock of this machine (timedatectl)")
    }
}
