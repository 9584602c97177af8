import Spool
import SpoolCore
import SpoolOrigin
import SpoolStore
import SpoolTiers
import Testing

/// The decisions about a bucket: what goes there, what its objects are, and which server is asked.
@Suite struct BucketDecisionTests {
    private static let key = ResourceKey(normalized: "https://media.example/a.mp4")
    private static let chunk = Int(BucketManifest.chunkBytes)
    private static let body = (0..<(2 * chunk + 1000)).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 9) }
    private static let fields: HTTPFields = ["Content-Type": "video/mp4", "ETag": "\"v1\"", "Date": "Tue, 01 Jan 2030 00:00:00 GMT"]

    private static let rules = UseRules(policy: .standard, isShared: true)
    /// An hour after the date of the fields.
    private static let now = Timestamp(nanoseconds: 1_893_459_600 * 1_000_000_000)

    private static func manifest(_ body: [UInt8] = body, _ fields: HTTPFields = fields) throws -> BucketManifest {
        let digests = stride(from: 0, to: body.count, by: chunk).flatMap { lower in
            Array(body[lower..<min(lower + chunk, body.count)]).withUnsafeBytes { SHA256Digest.of($0) }
        }
        return try #require(BucketManifest(key: key, length: Int64(body.count), fields: fields, digests: digests))
    }

    // MARK: Objects

    @Test func `an object describes its resource in its last bytes`() throws {
        let manifest = try Self.manifest()
        let object = Self.body + manifest.trailer
        #expect(manifest.trailer.count == BucketManifest.trailerBytes(key: Self.key, length: manifest.length, fields: Self.fields))
        let whole = BucketManifest.read(object, objectBytes: Int64(object.count), key: Self.key)
        #expect(whole == .manifest(manifest))
        let tail = Array(object.suffix(manifest.trailer.count))
        #expect(BucketManifest.read(tail, objectBytes: Int64(object.count), key: Self.key) == .manifest(manifest))
        let short = Array(object.suffix(manifest.trailer.count - 1))
        #expect(BucketManifest.read(short, objectBytes: Int64(object.count), key: Self.key) == .more(manifest.trailer.count))
    }

    @Test func `an object with a changed byte in its description, or of another resource, is foreign`() throws {
        let manifest = try Self.manifest()
        let trailer = manifest.trailer
        let objectBytes = manifest.length + Int64(trailer.count)
        for place in trailer.indices {
            var bytes = trailer
            bytes[place] ^= 1
            let reading = BucketManifest.read(bytes, objectBytes: objectBytes, key: Self.key)
            #expect(reading == .foreign, "byte \(place) of \(trailer.count)")
        }
        let other = ResourceKey(normalized: "https://media.example/b.mp4")
        #expect(BucketManifest.read(trailer, objectBytes: objectBytes, key: other) == .foreign)
        #expect(BucketManifest.read(trailer, objectBytes: objectBytes - 1, key: Self.key) == .foreign)
        #expect(BucketManifest.read([], objectBytes: 0, key: Self.key) == .foreign)
        #expect(BucketManifest.read(Array("<Error/>".utf8), objectBytes: 8, key: Self.key) == .foreign)
    }

    @Test(
        arguments: [0..<1, 0..<262_144, 262_143..<262_145, 300_000..<525_288, 0..<525_288] as [Range<Int64>],
        [1000, 65_536, 65_537, 600_000])
    func `a copy hands out the wanted bytes of verified chunks, however they arrive`(range: Range<Int64>, step: Int) throws {
        let wanted = try #require(ByteRange(range))
        var copy = BucketCopy(try Self.manifest(), wanted)
        let sent = Array(Self.body[Int(copy.chunks.lowerBound)..<Int(copy.chunks.upperBound)])
        var received: [UInt8] = []
        var calls = 0, isPaused = false
        for lower in stride(from: 0, to: sent.count, by: step) {
            let offer = Array(sent[lower..<min(lower + step, sent.count)])
            repeat {
                isPaused = false
                offer.withUnsafeBytes { bytes in
                    var cursor = copy.skip(bytes.count)
                    while !isPaused {
                        while !isPaused, let (count, part) = copy.next({ Array($0) }) {
                            calls += 1
                            // Every third call of the reader pauses, and gets the same bytes again.
                            guard calls % 3 != 0 else {
                                isPaused = true
                                copy.paused(afterTaking: cursor)
                                continue
                            }
                            received += part
                            copy.handedOut(count)
                        }
                        guard !isPaused else { continue }
                        cursor += copy.take(UnsafeRawBufferPointer(rebasing: bytes[cursor...]))
                        guard copy.isFull else { return }
                        #expect(mutating(&copy) { $0.verify() })
                    }
                }
            } while isPaused
        }
        #expect(copy.isDone)
        #expect(received == Array(Self.body[Int(range.lowerBound)..<Int(range.upperBound)]))
    }

    @Test func `a chunk with a changed byte is not handed out`() throws {
        var copy = BucketCopy(try Self.manifest(), ByteRange(lower: 0, upper: 10))
        var chunk = Array(Self.body.prefix(Self.chunk))
        chunk[Self.chunk - 1] ^= 1
        let taken = chunk.withUnsafeBytes { bytes in mutating(&copy) { $0.take(bytes) } }
        #expect(taken == Self.chunk && copy.isFull)
        #expect(!mutating(&copy) { $0.verify() })
        #expect(copy.next { $0.count } == nil)
    }

    // MARK: Rules

    private static func request(_ fields: HTTPFields = [:], _ url: String = "https://media.example/a.mp4") -> OriginRequest {
        OriginRequest(url: url, fields: fields)
    }

    @Test func `requests with credentials never have to do with the bucket`() {
        #expect(BucketRules.permit(Self.request(["Range": "bytes=0-", "User-Agent": "x", "Accept": "*/*", "Via": "1.1 a"])))
        for name in ["Authorization", "Cookie", "X-Api-Key", "X-Anything"] {
            #expect(!BucketRules.permit(Self.request([HTTPFields.Name(name): "x"])), "\(name)")
        }
        #expect(!BucketRules.permit(Self.request([:], "https://alice:secret@media.example/a.mp4")))
        var post = Self.request()
        post.method = "POST"
        #expect(!BucketRules.permit(post))
    }

    @Test(
        arguments: [
            [:], ["Cache-Control": "public, max-age=60"], ["Vary": "Accept-Encoding, origin"], ["Content-Encoding": "identity"],
        ] as [HTTPFields])
    func `a version with a strong tag that everybody may have goes to the bucket`(fields: HTTPFields) {
        #expect(BucketRules.tag(of: fields.replacing(with: ["ETag": "\"v\""])) == "\"v\"")
    }

    @Test(
        arguments: [
            ["Cache-Control": "private"], ["Cache-Control": "max-age=60, private=\"x\""], ["Cache-Control": "no-store"],
            ["CDN-Cache-Control": "no-store"], ["Vary": "Cookie"], ["Vary": "*"], ["Set-Cookie": "a=b"], ["Content-Encoding": "gzip"],
            ["ETag": "W/\"v\""],
        ] as [HTTPFields])
    func `no other version goes to the bucket`(fields: HTTPFields) {
        let tagged: HTTPFields = ["ETag": "\"v\""]
        #expect(BucketRules.tag(of: tagged.replacing(with: fields)) == nil)
    }

    @Test func `a response without a strong tag does not go to the bucket`() {
        #expect(BucketRules.tag(of: ["Last-Modified": "Tue, 01 Jan 2019 00:00:00 GMT", "Date": "Tue, 01 Jan 2030 00:00:00 GMT"]) == nil)
        #expect(BucketRules.tag(of: ResponseHead(status: 404, fields: ["ETag": "\"v\""])) == nil)
    }

    @Test(arguments: ["ftp://a/b", "https://u:p@a/b", "https://a/b?x=1", "https://a/b#c", "https://a/b%20c", "bucket"])
    func `another text is no bucket`(text: String) {
        #expect(BucketAddress(text, signature: RequestSignature(region: "r", accessKey: "k", secretKey: "s")) == nil)
    }

    @Test func `an object has the hash of the key as its name, and no text of the signature has a key`() throws {
        let signature = RequestSignature(
            region: "r", accessKey: "access-of-mine", secretKey: "secret-of-mine", sessionToken: "token-of-mine")
        let address = try #require(BucketAddress("https://s3.example/media", signature: signature))
        let request = try #require(address.tail(10, of: ResourceKey(normalized: "abc")))
        #expect(request.url == "https://s3.example/media/ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(request.fields == ["Range": "bytes=-10"])
        #expect(!"\(signature) \(String(reflecting: request)) \(address)".contains("of-mine"))
    }

    // MARK: One request

    @Test func `the origin confirms the version before a byte of the bucket is used`() throws {
        let manifest = try Self.manifest()
        var (fetch, step) = BucketFetch.begin(["Range": "bytes=5-"], known: nil)
        #expect(step == .look(BucketManifest.firstLookBytes) && fetch.waitsForBucket)
        step = fetch.tailReceived(.manifest(manifest))
        #expect(step == .confirm(tag: "\"v1\"") && !fetch.waitsForBucket)
        let confirmed: HTTPFields = ["ETag": "\"v1\"", "Date": "Wed, 02 Jan 2030 00:00:00 GMT", "Cache-Control": "max-age=9"]
        step = fetch.originAnswered(ResponseHead(status: 304, fields: confirmed), Self.rules, now: Self.now)
        #expect(step == .copy(manifest, ByteRange(lower: 5, upper: manifest.length)))
        let answer = try #require(mutating(&fetch) { $0.firstChunkVerified() })
        #expect(answer.status == 206 && answer.fields[.contentRange] == "bytes 5-525287/525288")
        #expect(answer.fields[.contentLength] == "525283")
        #expect(answer.fields[.date] == "Wed, 02 Jan 2030 00:00:00 GMT" && answer.fields[.cacheControl] == "max-age=9")
        #expect(answer.fields[.contentType] == "video/mp4" && answer.fields[.entityTag] == "\"v1\"")
        #expect(mutating(&fetch) { $0.bucketFailed(.damaged) } == .nothing, "the reader has the head")
    }

    @Test(arguments: [200, 206, 403, 404, 410])
    func `any other answer of the origin is the answer`(status: Int) throws {
        var (fetch, _) = BucketFetch.begin([:], known: try Self.manifest())
        let head = ResponseHead(status: status, fields: ["ETag": "\"v2\""])
        #expect(mutating(&fetch) { $0.originAnswered(head, Self.rules, now: Self.now) } == .pass)
        #expect(mutating(&fetch) { $0.firstChunkVerified() } == nil)
    }

    @Test(arguments: [OriginError.unreachable("refused"), .timeout("silent"), .status(503)])
    func `while the origin is away the bucket answers with a version that may be used stale`(error: OriginError) throws {
        let manifest = try Self.manifest()
        var (fetch, _) = BucketFetch.begin(["Range": "bytes=5-9"], known: manifest)
        let step =
            if case .status(let status, _) = error {
                fetch.originAnswered(ResponseHead(status: status, fields: [:]), Self.rules, now: Self.now)
            } else {
                fetch.originFailed(error, Self.rules, now: Self.now)
            }
        #expect(step == .copy(manifest, ByteRange(lower: 5, upper: 10)))
        let answer = try #require(mutating(&fetch) { $0.firstChunkVerified() })
        #expect(answer.status == 206 && answer.fields[.date] == Self.fields[.date], "the answer has its true age")
    }

    @Test(
        arguments: [
            ["Cache-Control": "no-cache"], ["Cache-Control": "max-age=60, must-revalidate"], ["Cache-Control": "s-maxage=60"],
            ["Cache-Control": "max-age=60, stale-if-error=60"], ["Date": ""],
        ] as [HTTPFields])
    func `while the origin is away no version is served that may not be used stale`(fields: HTTPFields) throws {
        let manifest = try Self.manifest(Self.body, Self.fields.replacing(with: fields))
        var (fetch, _) = BucketFetch.begin([:], known: manifest)
        #expect(mutating(&fetch) { $0.originFailed(.unreachable("refused"), Self.rules, now: Self.now) } == .pass)
        #expect(mutating(&fetch) { $0.firstChunkVerified() } == nil)
    }

    @Test func `a bucket that fails as well leads to the origin once more, whose failure is the answer`() throws {
        var (fetch, _) = BucketFetch.begin([:], known: try Self.manifest())
        let error = OriginError.unreachable("refused"), trouble = BucketFetch.Trouble.failed("refused")
        #expect(mutating(&fetch) { $0.originFailed(error, Self.rules, now: Self.now) } != .pass)
        #expect(mutating(&fetch) { $0.bucketFailed(trouble) } == .askOrigin(trouble))
        #expect(mutating(&fetch) { $0.originFailed(error, Self.rules, now: Self.now) } == .pass)
    }

    @Test func `a 304 about another version leads to the plain request`() throws {
        var (fetch, _) = BucketFetch.begin([:], known: try Self.manifest())
        let head = ResponseHead(status: 304, fields: ["ETag": "\"v2\""])
        #expect(mutating(&fetch) { $0.originAnswered(head, Self.rules, now: Self.now) } == .askOrigin(nil))
    }

    @Test func `a request that names its version needs no confirmation, and gets no other version`() throws {
        let manifest = try Self.manifest()
        let (_, same) = BucketFetch.begin(["Range": "bytes=0-9", "If-Range": "\"v1\""], known: manifest)
        #expect(same == .copy(manifest, ByteRange(lower: 0, upper: 10)))
        let (_, other) = BucketFetch.begin(["Range": "bytes=0-9", "If-Range": "\"v2\""], known: manifest)
        #expect(other == .askOrigin(nil))
    }

    @Test(arguments: ["bytes=0-1, 5-6", "bytes=600000-", "lines=1-2"])
    func `a range that the bucket can't answer goes to the origin`(range: String) throws {
        let (_, step) = BucketFetch.begin(["Range": range], known: try Self.manifest())
        #expect(step == .askOrigin(nil))
    }

    @Test func `until the first verified chunk the origin takes over`() throws {
        let manifest = try Self.manifest()
        let trouble = BucketFetch.Trouble.failed("refused")
        var (fetch, _) = BucketFetch.begin([:], known: nil)
        #expect(mutating(&fetch) { $0.bucketFailed(trouble) } == .askOrigin(trouble))
        #expect(mutating(&fetch) { $0.bucketFailed(trouble) } == .nothing, "once")
        (fetch, _) = BucketFetch.begin([:], known: manifest)
        #expect(mutating(&fetch) { $0.originAnswered(ResponseHead(status: 304, fields: [:]), Self.rules, now: Self.now) } != .pass)
        #expect(mutating(&fetch) { $0.bucketFailed(.damaged) } == .askOrigin(.damaged))
        #expect(mutating(&fetch) { $0.firstChunkVerified() } == nil, "too late")
        (fetch, _) = BucketFetch.begin([:], known: nil)
        #expect(mutating(&fetch) { $0.objectIsMissing() } == .askOrigin(nil))
        (fetch, _) = BucketFetch.begin([:], known: nil)
        #expect(mutating(&fetch) { $0.tailReceived(.foreign) } == .askOrigin(.damaged))
        (fetch, _) = BucketFetch.begin([:], known: nil)
        #expect(mutating(&fetch) { $0.tailReceived(.more(70_000)) } == .look(70_000))
        #expect(mutating(&fetch) { $0.tailReceived(.more(80_000)) } == .askOrigin(.damaged), "it is asked twice at most")
    }

    // MARK: The ledger

    @Test func `a version is uploaded once, and only after the origin sent it without credentials`() throws {
        var ledger = BucketLedger()
        #expect(!ledger.mayWantUpload(Self.key) && !ledger.wantsUpload(Self.key, tag: "\"v1\""))
        #expect(mutating(&ledger) { $0.opened(Self.key, tag: "\"v1\"") })
        #expect(ledger.wantsUpload(Self.key, tag: "\"v1\"") && !ledger.wantsUpload(Self.key, tag: "\"v2\""))
        ledger.uploaded(Self.key, tag: "\"v1\"")
        #expect(!ledger.mayWantUpload(Self.key))
        #expect(mutating(&ledger) { $0.opened(Self.key, tag: "\"v2\"") }, "another version")
        ledger.closed(Self.key)
        #expect(!ledger.mayWantUpload(Self.key))
    }

    @Test func `a damaged object is not asked for, and is replaced`() throws {
        var ledger = BucketLedger()
        let now = MonotonicInstant(nanoseconds: 0)
        ledger.found(try Self.manifest())
        #expect(ledger.lookup(Self.key, now: now) == .known(try Self.manifest()))
        ledger.unusable(Self.key, isDamaged: true, now: now)
        #expect(ledger.lookup(Self.key, now: now) == .skip && ledger.isDamaged(Self.key))
        #expect(ledger.lookup(Self.key, now: now + BucketLedger.missingTime) == .ask)
        ledger.uploaded(Self.key, tag: "\"v1\"")
        #expect(ledger.lookup(Self.key, now: now) == .ask && !ledger.isDamaged(Self.key))
    }

    @Test func `the ledger forgets the oldest, and stays small`() {
        var ledger = BucketLedger()
        for number in 0..<10_000 { _ = ledger.opened(ResourceKey(normalized: "https://a/\(number)"), tag: "\"v\"") }
        #expect(!ledger.mayWantUpload(ResourceKey(normalized: "https://a/0")))
        #expect(ledger.mayWantUpload(ResourceKey(normalized: "https://a/9999")))
    }

    // MARK: The queue

    private static let other = ResourceKey(normalized: "https://media.example/b.mp4")

    @Test func `resources are uploaded one after the other, once they have settled`() {
        var queue = UploadQueue()
        var now = MonotonicInstant(nanoseconds: 0)
        #expect(mutating(&queue) { $0.noted(Self.key, now: now) } == .queued)
        now = now + 1
        #expect(mutating(&queue) { $0.noted(Self.other, now: now) } == .queued)
        #expect(mutating(&queue) { $0.noted(Self.other, now: now) } == .known)
        #expect(mutating(&queue) { $0.next(now: now) } == .wait(now + (UploadQueue.settling - 1)))
        now = now + UploadQueue.settling
        #expect(mutating(&queue) { $0.next(now: now) } == .start(Self.key))
        #expect(mutating(&queue) { $0.next(now: now) } == .idle, "one at a time")
        #expect(mutating(&queue) { $0.noted(Self.key, now: now) } == .known)
        #expect(!mutating(&queue) { $0.finished(.done, now: now) })
        #expect(mutating(&queue) { $0.next(now: now) } == .start(Self.other))
        #expect(!mutating(&queue) { $0.finished(.done, now: now) })
        #expect(mutating(&queue) { $0.next(now: now) } == .wait(now + UploadQueue.settling), "there was news while it ran")
    }

    @Test func `after a failure the queue rests longer each time, and gives a resource up in the end`() {
        var queue = UploadQueue()
        var now = MonotonicInstant(nanoseconds: 0)
        _ = queue.noted(Self.key, now: now)
        now = now + UploadQueue.settling
        var pause = UploadQueue.firstPause
        for attempt in 1...UploadQueue.attempts {
            #expect(mutating(&queue) { $0.next(now: now) } == .start(Self.key))
            #expect(mutating(&queue) { $0.finished(.failed, now: now) } == (attempt == UploadQueue.attempts))
            let next = mutating(&queue) { $0.next(now: now) }
            #expect(next == (attempt == UploadQueue.attempts ? .idle : .wait(now + pause)))
            now = now + pause
            pause = min(2 * pause, UploadQueue.longestPause)
        }
    }

    @Test func `constant news of a resource does not put its upload off`() {
        var queue = UploadQueue()
        var now = MonotonicInstant(nanoseconds: 0)
        _ = queue.noted(Self.key, now: now)
        for _ in 0..<2 {
            now = now + UploadQueue.settling / 2
            #expect(mutating(&queue) { $0.noted(Self.key, now: now) } == .known)
        }
        #expect(mutating(&queue) { $0.next(now: now) } == .start(Self.key))
    }

    @Test func `the queue is bounded`() {
        var queue = UploadQueue()
        let now = MonotonicInstant(nanoseconds: 0)
        for number in 0..<UploadQueue.limit { _ = queue.noted(ResourceKey(normalized: "https://a/\(number)"), now: now) }
        #expect(mutating(&queue) { $0.noted(Self.key, now: now) } == .dropped)
    }

    private func mutating<Value, Result>(_ value: inout Value, _ change: (inout Value) -> Result) -> Result { change(&value) }
}
