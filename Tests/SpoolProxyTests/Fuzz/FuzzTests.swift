import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolServer
import SpoolStore
import SpoolSystem
import Testing

/// A body of `count` zeros.
private final class Zeros: BodySource {
    private var rest: OwnedBytes

    init(count: Int) { rest = OwnedBytes(copying: [UInt8](repeating: 0, count: count)) }

    func next(max: Int) -> BodyChunk { rest.isEmpty ? .end : .memory(rest.prefix(max)) }

    func consumed(_ count: Int) { rest = rest.dropFirst(count) }
    func close() {}
    func onReadable(_ wake: @escaping @Sendable () -> Void) {}
}

/// Feeds every parser of network bytes with broken input. No parser crashes or hangs, and every
/// result is consistent.
@Suite(.timeLimit(.minutes(20))) struct FuzzTests {
    // MARK: Requests

    @Test func `requests are parsed alike, however they are cut into chunks`() throws {
        let fuzzer = try Fuzzer("requests", rounds: 3000)
        fuzzer.run { (bytes: [UInt8]) in
            let whole = Self.requests(in: bytes, step: max(1, bytes.count))
            let step = 1 + fuzzer.below(24)
            guard Self.requests(in: bytes, step: step) != whole else { return }
            Issue.record("cuts of \(step) bytes matter; seed \(fuzzer.seed): \(bytes)")
        }
    }

    /// The requests that a connection reads from the bytes, in chunks of `step` bytes.
    static func requests(in bytes: [UInt8], step: Int) -> [String] {
        var parser = RequestParser()
        var found: [String] = []
        var buffer: [UInt8] = []
        var toSkip = 0, position = 0
        while position < bytes.count {
            let next = min(position + step, bytes.count)
            buffer += bytes[position..<next]
            position = next
            while true {
                let skipped = min(toSkip, buffer.count)
                buffer.removeFirst(skipped)
                toSkip -= skipped
                guard toSkip == 0, !buffer.isEmpty else { break }
                let progress = buffer.withUnsafeBytes { parser.parse($0) }
                if case .needsMore = progress { break }
                if case .refused(let refusal) = progress { return found + ["\(refusal.status) \(refusal.explanation)"] }
                guard case .head(let head, let consumed, let body) = progress else { break }
                buffer.removeFirst(consumed)
                toSkip = body
                found.append("\(head.method) \(head.path) \(head.authority ?? "-") \(head.keepAlive) \(head.fields)")
            }
        }
        return found
    }

    // MARK: Responses

    @Test func `an origin's head gives fields that can be stored and sent`() throws {
        let fuzzer = try Fuzzer("heads", rounds: 3000)
        fuzzer.run { (bytes: [UInt8]) in
            guard let head = Self.head(bytes) else { return }
            for field in head.fields.lines {
                let isClean = !field.value.utf8.contains { $0 == 0 || $0 == 10 || $0 == 13 }
                if !isClean || field.name.isEmpty { Issue.record("a field value with a control character; seed \(fuzzer.seed): \(bytes)") }
            }
            let stored = storedFields(of: head.fields)
            if FieldBlock.decode(FieldBlock.encode(stored)) != stored { Issue.record("lost in the index; seed \(fuzzer.seed): \(bytes)") }
            _ = ResponseOutcome(head, start: 0)
            _ = Validator(fields: head.fields)
            _ = CacheControl(head.fields)
        }
    }

    /// A reader at any position, any answer, a body, and a store that takes it or has no room. Each
    /// of them adds to an offset, and no sum may overflow.
    @Test func `a session survives every head, at every position of its reader`() throws {
        let bound = ByteRange.maximumOffset
        let places: [Int64] = [0, 5, bound - 11, bound - 1, bound, bound + 1, 1 << 62, .max - 4096, .max - 807, .max - 1, .max]
        let fuzzer = try Fuzzer("heads", rounds: 3000)
        fuzzer.run { (bytes: [UInt8]) in
            guard let head = Self.head(bytes) else { return }
            var session = FuzzedSession(requestBytes: fuzzer.below(2) == 0 ? nil : 2 << 20)
            let end = fuzzer.below(2) == 0 ? nil : places[fuzzer.below(places.count)]
            session.play(head, from: places[fuzzer.below(places.count)], to: end)
            if !session.machine.violations.isEmpty { Issue.record("\(session.machine.violations); seed \(fuzzer.seed): \(bytes)") }
        }
    }

    static func head(_ bytes: [UInt8]) -> ResponseHead? {
        var collector = HeadCollector()
        for line in bytes.split(separator: 10, omittingEmptySubsequences: false) {
            let step = (Array(line) + [10]).withUnsafeBytes { collector.lineReceived($0) }
            switch step {
            case .head(let head): return head
            case .refused: return nil
            case .more, .interim, .trailer: continue
            }
        }
        return nil
    }

    // MARK: Fields

    @Test func `parsed ranges stay inside their resource and are few`() throws {
        let fuzzer = try Fuzzer("fields")
        fuzzer.run { (text: String) in
            guard let header = RangeHeader(text) else { return }
            for length in [0, 1, 100, ByteRange.maximumOffset - 1, ByteRange.maximumOffset, Int64.max] {
                guard case .ranges(let ranges) = header.resolve(length: length) else { continue }
                let isSound = !ranges.isEmpty && ranges.count <= 64 && ranges.allSatisfy { $0.lowerBound >= 0 && $0.upperBound <= length }
                if !isSound { Issue.record("\(ranges) of \(length); seed \(fuzzer.seed): \(text)") }
            }
        }
    }

    /// Ranges from a client and a media type from an origin. The body has the length that its head
    /// states, and each part's head has one line for each field.
    @Test func `a multipart body has its stated length, for every range and type`() throws {
        let fuzzer = try Fuzzer("fields")
        fuzzer.run { (text: String) in
            let value = "bytes=" + text.drop { $0 != "=" }.dropFirst()
            guard case .ranges(let ranges)? = RangeHeader(value)?.resolve(length: 5000) else { return }
            let parts = ranges.map { range in MultipartByteRanges.Part(range) { Zeros(count: Int(range.count)) } }
            let body = MultipartByteRanges(parts: parts, partType: text, total: 5000, boundary: "b")
            var bytes: [UInt8] = []
            while case .memory(let chunk) = body.next(max: 4096), !chunk.isEmpty {
                chunk.withBytes { bytes += $0 }
                body.consumed(chunk.count)
            }
            body.close()
            let lines = bytes.filter { $0 == 10 }.count
            if Int64(bytes.count) != body.length || lines != 4 * parts.count + (parts.count - 1) + 2 {
                Issue.record("\(bytes.count) bytes of \(body.length) in \(lines) lines; seed \(fuzzer.seed): \(text)")
            }
        }
    }

    @Test func `fields of every grammar are parsed or refused`() throws {
        let fuzzer = try Fuzzer("fields", "heads", rounds: 4000)
        let representation = Representation(
            length: 100, validator: .strong(entityTag: "\"v1\""), fields: [:], requestTime: Timestamp(seconds: 0),
            responseTime: Timestamp(seconds: 0))
        fuzzer.run { (text: String) in
            if let range = try? ContentRange(text), let again = try? ContentRange(range.fieldValue), again != range {
                Issue.record("a Content-Range that reads differently; seed \(fuzzer.seed): \(text)")
            }
            if let time = HTTPDate.parse(text), let again = HTTPDate.parse(HTTPDate.format(time)), again.seconds != time.seconds {
                Issue.record("a date that reads differently; seed \(fuzzer.seed): \(text)")
            }
            for name in ["If-None-Match", "If-Match", "If-Range", "If-Modified-Since", "If-Unmodified-Since"] {
                _ = Precondition.evaluate(fields: [HTTPFields.Name(name): text], representation: representation)
            }
            _ = CacheControl(text)
            _ = EntityTag(text)
            _ = MediaType(text)
            _ = try? ContentLength.parse([text, text])
            _ = fileExtension(url: "http://a/" + text, contentType: text)
            _ = FieldBlock.decode(Array(text.utf8))
        }
    }

    // MARK: URLs

    @Test func `URLs are split and resolved, and the key of a key is itself`() throws {
        let fuzzer = try Fuzzer("urls", rounds: 4000)
        let base = try URIReference("http://media.example/a/b?c")
        let policy = KeyPolicy().dropQueryItems(named: ["sig"]).sameHosts(["a.example", "*.media.example"])
        fuzzer.run { (text: String) in
            if let reference = try? URIReference(text), reference.text != text { Issue.record("seed \(fuzzer.seed): \(text)") }
            _ = try? base.resolving(lenient: text)
            guard let key = try? policy.key(for: text) else { return }
            if (try? policy.key(for: key.string)) != key { Issue.record("a key of a key; seed \(fuzzer.seed): \(text)") }
        }
    }

    @Test func `targets lead only to http and https, and never to a page without its token`() throws {
        let fuzzer = try Fuzzer("urls", "requests", rounds: 4000)
        var options = ProxyOptions()
        options.token = nil
        let open = try ProxyTargetRules(options)
        options.token = "s3cret"
        let locked = try ProxyTargetRules(options)
        fuzzer.run { (text: String) in
            for host in [nil, "127.0.0.1", text] {
                if case .resource(let url, _) = open.read(path: text, host: host),
                    !url.text.lowercased().hasPrefix("http://") && !url.text.lowercased().hasPrefix("https://")
                {
                    Issue.record("\(url); seed \(fuzzer.seed): \(text)")
                }
                if case .refused = locked.read(path: text, host: host) { continue }
                if !text.hasPrefix("/s3cret") { Issue.record("served without token; seed \(fuzzer.seed): \(text)") }
            }
        }
    }
}
