import Foundation
import SpoolCommand
import SpoolCore
import SpoolOrigin
import SpoolTesting
import Testing

/// The checks of a bucket by `spool doctor`.
@Suite(.timeLimit(.minutes(20)))
struct BucketDoctorTests {
    private let directory = Result { try ScratchDirectory() }
    private let now = Timestamp(nanoseconds: 1_800_000_000_000_000_000)

    private func answer(_ status: Int, code: String? = nil, date: Timestamp? = nil) -> BucketAnswer {
        let body = code.map { "<?xml version=\"1.0\"?><Error><Code>\($0)</Code><Message>secret</Message></Error>" } ?? ""
        let fields: HTTPFields = date.map { [.date: HTTPDate.format($0)] } ?? [:]
        return BucketAnswer(ResponseHead(status: status, fields: fields), Array(body.utf8), now: now)
    }

    // MARK: The meaning of an answer

    @Test(arguments: [(200, nil), (206, nil), (404, nil), (404, "NoSuchKey"), (416, "InvalidRange")] as [(Int, String?)])
    func `an answer about the object is as it should be`(status: Int, code: String?) {
        let finding = answer(status, code: code).finding("the bucket", means: "nothing was written")
        #expect(finding.level == .ok && finding.text.contains("nothing was written"))
    }

    @Test(
        arguments: [
            (403, "RequestTimeTooSkewed", "clock"), (403, "InvalidAccessKeyId", "first line"),
            (403, "SignatureDoesNotMatch", "second line"),
            (403, "AccessDenied", "list"), (403, nil, "list"), (401, nil, "keys"), (404, "NoSuchBucket", "make it"), (301, nil, "region"),
            (400, "AuthorizationHeaderMalformed", "region"), (400, "ExpiredToken", "token"), (503, "SlowDown", "run the bucket"),
            (302, nil, "URL"),
        ] as [(Int, String?, String)])
    func `each refusal is a problem with its own advice`(status: Int, code: String?, advice: String) {
        let finding = answer(status, code: code).finding("the bucket", means: "nothing was written")
        #expect(finding.level == .problem && finding.advice?.contains(advice) == true, "\(finding)")
    }

    @Test func `a code that is no word is not shown`() {
        #expect(answer(403, code: "\u{1B}[31mred").code == nil)
        #expect(answer(403, code: String(repeating: "A", count: 1000)).code?.count == 64)
        #expect(answer(403).code == nil)
    }

    @Test func `a clock that is minutes away is a warning`() {
        let seconds: (Int64) -> Timestamp = { Timestamp(nanoseconds: self.now.nanoseconds + $0 * 1_000_000_000) }
        #expect(answer(404, date: seconds(-20)).clock?.level == .ok)
        #expect(answer(404, date: seconds(400)).clock?.level == .warning)
        #expect(answer(404, date: seconds(-400)).clock?.level == .warning)
        #expect(answer(404).clock == nil)
    }

    // MARK: The command

    #if os(Linux)
    private func doctor(_ words: [String]) throws -> (code: Int32, checks: [String: [String: Any]]) {
        let directory = try directory.get()
        let keys = directory.path("keys")
        try Data("access-of-mine\nsecret-of-mine\n".utf8).write(to: URL(fileURLWithPath: keys))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: keys)
        let flags = ["doctor", "--json", "--listen", "127.0.0.1:0", "--cache", directory.path("store"), "--bucket-key-file", keys]
        let outcome = try SpoolProcess.run(flags + words, in: directory)
        #expect(!outcome.text.contains("of-mine") && !outcome.errors.contains("of-mine"))
        let checks = try #require((outcome.json as? [String: Any])?["checks"] as? [[String: Any]], "\(outcome.errors)")
        return (outcome.code, Dictionary(uniqueKeysWithValues: checks.map { ($0["check"] as? String ?? "", $0) }))
    }

    @Test func `a bucket that answers is read only, unless a write is asked for`() throws {
        let origin = try RawOrigin(script: { request, _ in request.method == "GET" ? .status(404) : .status(204) })
        defer { origin.stop() }
        let bucket = ["--bucket", origin.url("/media")]
        let read = try doctor(bucket)
        #expect(read.code == 0 && read.checks["bucket"]?["level"] as? String == "ok", "\(read)")
        #expect((read.checks["bucket"]?["text"] as? String)?.contains("only read") == true)
        #expect(read.checks["bucket clock"]?["level"] as? String == "ok")
        #expect(read.checks["bucket write"] == nil)
        #expect(origin.log.entries.map(\.request.method) == ["GET"])
        // This store takes the object and does not have it afterwards.
        let written = try doctor(bucket + ["--probe-bucket"])
        #expect(written.code == 1 && written.checks["bucket write"]?["level"] as? String == "problem", "\(written)")
        #expect(origin.log.entries.map(\.request.method) == ["GET", "GET", "PUT", "GET"])
        #expect(origin.log.entries.allSatisfy { $0.request.url.hasSuffix("/media/spool-doctor") })
    }

    @Test func `an object that was written, read and deleted is as it should be, and one that stays is a warning`() throws {
        let bytes = "This object is of 'spool doctor --probe-bucket' and can be deleted.\n"
        let origin = try RawOrigin(script: { request, _ in
            request.method == "GET" ? .status(200, body: Array(bytes.utf8)) : .status(204)
        })
        defer { origin.stop() }
        let bucket = ["--bucket", origin.url("/media"), "--probe-bucket"]
        let report = try doctor(bucket)
        #expect(report.code == 0 && report.checks["bucket write"]?["level"] as? String == "ok", "\(report)")
        #expect(origin.log.entries.map(\.request.method) == ["GET", "PUT", "GET", "DELETE"])
        origin.follow { request, _ in
            request.method == "DELETE" ? .status(403) : request.method == "GET" ? .status(200, body: Array(bytes.utf8)) : .status(200)
        }
        let kept = try doctor(bucket)
        #expect(kept.code == 0 && kept.checks["bucket write"]?["level"] as? String == "warning", "\(kept)")
        #expect((kept.checks["bucket write"]?["advice"] as? String)?.contains("spool-doctor") == true)
    }

    @Test func `a bucket that is away, refuses the key, or has no key is a problem with advice`() throws {
        let away = try doctor(["--bucket", "http://127.0.0.1:\(try RawOrigin.unusedPort())/media"])
        #expect(away.code == 1 && away.checks["bucket"]?["level"] as? String == "problem")
        let origin = try RawOrigin(script: { _, _ in .status(403) })
        defer { origin.stop() }
        let refused = try doctor(["--bucket", origin.url("/media")])
        #expect(refused.code == 1 && (refused.checks["bucket"]?["advice"] as? String)?.contains("rights") == true, "\(refused)")
        let keyless = try doctor(["--bucket", origin.url("/media"), "--bucket-key-file", "/nowhere/keys"])
        #expect(keyless.code == 1 && (keyless.checks["bucket"]?["advice"] as? String)?.contains("--bucket-key-file") == true)
    }
    #endif
}
