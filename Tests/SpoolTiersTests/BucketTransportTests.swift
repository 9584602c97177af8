import Spool
import SpoolCore
import SpoolOrigin
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import SpoolTiers
import Testing

/// A request that a bucket may answer, with the origin as the way out.
@Suite struct BucketTransportTests {
    /// Sends the requests to the bucket and to the origin, in one list.
    private let base = HandTransport()
    private let time = ManualTime()
    private let receiver = WordReceiver()
    private let events = Locked([String]())

    private static let url = "https://media.example/a.mp4"
    private static let key = ResourceKey(normalized: url)
    private static let body = [UInt8](repeating: 7, count: Int(BucketManifest.chunkBytes) + 10)
    private static let fields: HTTPFields = ["ETag": "\"v1\"", "Content-Type": "video/mp4"]

    private func bucket() throws -> Bucket {
        let signature = RequestSignature(region: "r", accessKey: "k", secretKey: "s")
        let address = try #require(BucketAddress("http://bucket/b", signature: signature))
        return Bucket(address, wire: base, keyPolicy: KeyPolicy(), time: time, on: HandMailbox())
    }

    private func start(_ bucket: Bucket, _ fields: HTTPFields = [:]) -> any Transfer {
        BucketTransport(base, bucket: bucket).start(OriginRequest(url: Self.url, fields: fields), receiver: receiver)
    }

    /// Whether the request with this number went to the bucket.
    private func isForBucket(_ number: Int) -> Bool { base.request(number).signature != nil }

    private static func object(_ fields: HTTPFields = fields) throws -> [UInt8] {
        let digests = [body.prefix(Int(BucketManifest.chunkBytes)), body.suffix(10)].flatMap { chunk in
            Array(chunk).withUnsafeBytes { SHA256Digest.of($0) }
        }
        return body + (try #require(BucketManifest(key: key, length: Int64(body.count), fields: fields, digests: digests))).trailer
    }

    /// Answers the look at the object, which is the request with this number.
    private func answerLook(_ number: Int, _ fields: HTTPFields = fields) throws {
        let object = try Self.object(fields)
        let tail = Array(object.suffix(BucketManifest.firstLookBytes))
        let place = "bytes \(object.count - tail.count)-\(object.count - 1)/\(object.count)"
        base.answer(number, 206, ["Content-Range": place, "ETag": "\"o\""])
        #expect(base.offer(number, tail) == .taken)
        base.end(number, .complete)
    }

    /// Lets the bucket answer up to its first byte of the body. The requests have the numbers 0 to 2.
    private func beginAnswer() throws {
        #expect(isForBucket(0))
        try answerLook(0)
        #expect(!isForBucket(1) && base.request(1).fields[.ifNoneMatch] == "\"v1\"" && base.request(1).url == Self.url)
        base.answer(1, 304, [:])
        base.end(1, .complete)
        #expect(isForBucket(2) && base.request(2).fields["If-Match"] == "\"o\"")
        #expect(base.request(2).fields[.range] == "bytes=0-\(Self.body.count - 1)")
        base.answer(2, 206, ["Content-Range": "bytes 0-\(Self.body.count - 1)/\(try Self.object().count)"])
        #expect(receiver.words.isEmpty, "the head goes out with the first verified chunk")
    }

    @Test func `the origin confirms the version, and the bucket brings the bytes`() throws {
        let bucket = try bucket()
        _ = start(bucket)
        try beginAnswer()
        #expect(base.offer(2, Self.body) == .taken)
        base.end(2, .complete)
        #expect(receiver.words == ["200", "bytes", "bytes", "bytes", "bytes", "bytes", "complete"])
        let counts = bucket.statistics
        #expect(counts.requests == 1 && counts.hits == 1 && counts.servedBytes == Int64(Self.body.count) && counts.failures == 0)
        #expect(base.cancelled.isEmpty)
    }

    @Test(arguments: [nil, 503] as [Int?])
    func `while the origin is away the bucket brings the bytes, and the reader does not notice`(status: Int?) throws {
        let fields = Self.fields.replacing(with: ["Date": HTTPDate.format(time.wallNow)])
        let bucket = try bucket()
        _ = start(bucket)
        try answerLook(0, fields)
        if let status { base.answer(1, status, [:]) } else { base.end(1, .failed(.unreachable("refused"))) }
        #expect(isForBucket(2))
        base.answer(2, 206, ["Content-Range": "bytes 0-\(Self.body.count - 1)/\(try Self.object(fields).count)"])
        #expect(base.offer(2, Self.body) == .taken)
        base.end(2, .complete)
        #expect(receiver.words.first == "200" && receiver.words.last == "complete")
        #expect(bucket.statistics.hits == 1)
        #expect(Set(base.cancelled) == (status == nil ? [] : [1]), "the answer of the origin is not read")
    }

    @Test func `a version without a date is not served while the origin is away`() throws {
        let bucket = try bucket()
        _ = start(bucket)
        try answerLook(0)
        base.end(1, .failed(.unreachable("refused")))
        #expect(receiver.words == ["failed"] && bucket.statistics.hits == 0)
    }

    @Test func `a wrong first chunk is replaced by the origin, and the reader does not notice`() throws {
        let bucket = try bucket()
        _ = start(bucket)
        try beginAnswer()
        var wrong = Self.body
        wrong[5] ^= 1
        #expect(base.offer(2, wrong) == .enough)
        base.end(2, .cancelled)
        #expect(receiver.words.isEmpty && !isForBucket(3) && base.request(3).fields[.ifNoneMatch] == nil)
        base.answer(3, 200, Self.fields)
        base.end(3, .complete)
        #expect(receiver.words == ["200", "complete"] && bucket.statistics.damages == 1)
        _ = start(bucket)
        #expect(!isForBucket(4), "the damaged object is not asked for again")
    }

    @Test func `a wrong later chunk ends the request before a byte of it is handed out`() throws {
        let bucket = try bucket()
        _ = start(bucket)
        try beginAnswer()
        var wrong = Self.body
        wrong[wrong.count - 1] ^= 1
        #expect(base.offer(2, wrong) == .enough)
        base.end(2, .cancelled)
        #expect(receiver.words == ["200", "bytes", "bytes", "bytes", "bytes", "failed"])
        #expect(bucket.statistics.servedBytes == BucketManifest.chunkBytes)
    }

    @Test func `a resource without an object is asked for once`() throws {
        let bucket = try bucket()
        _ = start(bucket)
        base.answer(0, 404, [:])
        base.end(0, .complete)
        #expect(!isForBucket(1))
        base.answer(1, 200, Self.fields)
        base.end(1, .complete)
        _ = start(bucket)
        #expect(!isForBucket(2) && bucket.statistics.misses == 1 && bucket.statistics.failures == 0)
    }

    @Test(arguments: [OriginError.unreachable("refused"), .timeout("silent")])
    func `a bucket that is away costs no answer, and rests`(error: OriginError) throws {
        let bucket = try bucket()
        _ = start(bucket)
        base.end(0, .failed(error))
        #expect(!isForBucket(1))
        _ = start(bucket)
        #expect(!isForBucket(2) && bucket.statistics.failures == 1)
        time.advance(by: ServerHealth.firstPause)
        _ = start(bucket)
        #expect(isForBucket(3))
    }

    @Test(arguments: [false, true]) func `a bucket that is slow costs its patience once`(isCopying: Bool) throws {
        let bucket = try bucket()
        _ = start(bucket)
        if isCopying { try beginAnswer() }
        let count = base.urls.count
        time.advance(by: BucketAddress.patience - 1)
        #expect(base.urls.count == count)
        time.advance(by: 1)
        #expect(base.cancelled == [count - 1])
        base.end(count - 1, .cancelled)
        #expect(base.urls.count == count + 1 && !isForBucket(count))
        base.answer(count, 200, Self.fields)
        base.end(count, .complete)
        time.advance(by: BucketAddress.patience)
        #expect(receiver.words == ["200", "complete"])
        _ = start(bucket)
        #expect(!isForBucket(count + 1))
    }

    @Test(arguments: [403, 500, 503, 301]) func `a refusal of the bucket is never the answer`(status: Int) throws {
        let bucket = try bucket()
        _ = start(bucket)
        base.answer(0, status, [:])
        _ = base.offer(0)
        base.end(0, .complete)
        #expect(!isForBucket(1) && receiver.words.isEmpty && bucket.statistics.failures == 1)
    }

    @Test(arguments: [["Authorization": "Bearer x"], ["Cookie": "a=b"], ["If-None-Match": "\"v1\""]] as [HTTPFields])
    func `requests with credentials, and revalidations, go to the origin alone`(fields: HTTPFields) throws {
        _ = start(try bucket(), fields)
        #expect(base.urls == [Self.url] && !isForBucket(0) && base.request(0).fields == fields)
    }

    @Test(arguments: 0...2) func `a cancelled request ends once`(phase: Int) throws {
        let transfer = start(try bucket())
        if phase == 1 { try answerLook(0) }
        if phase == 2 { try beginAnswer() }
        transfer.cancel()
        #expect(base.cancelled == [phase])
        base.end(phase, .cancelled)
        time.advance(by: .seconds(60))
        #expect(receiver.words == ["cancelled"] && base.urls.count == phase + 1)
    }
}
