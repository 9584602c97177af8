import Spool
import SpoolCore
import SpoolServer

/// What a door keeps of a resource between requests, so that a hit costs a look at the session and a few copied bytes.
/// Belongs to the loop's thread.
final class HitMemo {
    fileprivate let key: ResourceKey
    fileprivate let url: String
    fileprivate let policy: CachePolicy
    fileprivate var link = SessionLink()
    fileprivate var head: Head?

    /// The head of hits of one version, but for what differs from one to the next.
    fileprivate struct Head {
        var version: HitVersion
        var lines: FieldLines
        var age: ResponseAge
    }

    init(key: ResourceKey, url: String, policy: CachePolicy) {
        self.key = key
        self.url = url
        self.policy = policy
    }
}

/// The short way of a `ResourceAnswer`: a GET whose bytes are stored, verified and may be used without asking anyone.
enum HitAnswer {
    /// Answers, or answers false when the request or what is stored needs a closer look; then nothing has happened.
    static func respond(to request: RequestHead, on exchange: Exchange, from cache: MediaCache, _ memo: HitMemo, now: Timestamp) -> Bool {
        guard request.method == "GET", !deviates.contains(where: request.has) else { return false }
        let spec: RangeHeader.Spec?
        if let value = request["Range"] {
            // What is no range is ignored, and several are for the long way.
            guard let range = RangeHeader(value), range.specs.count == 1 else { return false }
            spec = range.specs[0]
        } else {
            spec = nil
        }
        guard let hit = cache.hit(&memo.link, key: memo.key, url: memo.url, spec: spec, policy: memo.policy, max: turnBytes) else {
            return false
        }
        guard let head = head(of: hit, memo) else {
            hit.reader.leave()
            return false
        }
        var lines = head.lines
        lines.append(age: head.age.seconds(now: now))
        if spec != nil { lines.append(contentRange: hit.range, of: hit.length) }
        exchange.respond(
            Response(spec == nil ? 200 : 206, prepared: lines, body: .source(HitBodySource(hit), length: hit.range.count)))
        return true
    }

    /// Fields that make a request more than the wish for bytes.
    private static let deviates = ["If-None-Match", "If-Modified-Since", "If-Range", "Cache-Control", "Pragma", "Origin"]

    /// What is handed out before the session is asked again, in bytes: what a connection sends in one turn.
    private static let turnBytes: Int64 = 1 << 20

    private static func head(of hit: StoredHit, _ memo: HitMemo) -> HitMemo.Head? {
        if let head = memo.head, head.version == hit.version { return head }
        guard let (representation, version) = hit.reader.current else { return nil }
        var fields = representation.fields
        fields["Content-Range"] = nil
        fields["Age"] = nil
        fields["Accept-Ranges"] = "bytes"
        fields.append("Cache-Status", CacheStatus(source: .hit).fieldValue)
        do throws(FieldLines.InvalidField) {
            let head = HitMemo.Head(version: version, lines: try FieldLines(fields), age: representation.age)
            memo.head = head
            return head
        } catch {
            // The long way says so.
            return nil
        }
    }
}

/// The bytes of a hit: the first of them without a question, the others as of any reader.
final class HitBodySource: BodySource {
    private let hit: StoredHit
    /// Of `hit.stored`, how many bytes went out.
    private var sent = 0
    /// What goes on where the first bytes end.
    private var rest: SessionBodySource?
    private var wake: @Sendable () -> Void = {}

    init(_ hit: StoredHit) {
        self.hit = hit
    }

    func onReadable(_ wake: @escaping @Sendable () -> Void) { self.wake = wake }

    func next(max: Int) -> BodyChunk {
        if let rest { return rest.next(max: max) }
        let left = Int(hit.stored.count) - sent
        guard left == 0 else {
            // Hits are served from files that have a descriptor.
            guard let descriptor = hit.file.descriptor else { return .abort("a stored file has no descriptor any more") }
            return .file(
                descriptor: descriptor, offset: hit.stored.lowerBound + Int64(sent), count: min(left, max), keepAlive: hit.file)
        }
        hit.reader.advance(by: sent, fromOrigin: false)
        let relay = WakeRelay()
        hit.reader.onWake { relay.wake() }
        let rest = SessionBodySource(reader: hit.reader, relay: relay)
        rest.onReadable(wake)
        self.rest = rest
        return rest.next(max: max)
    }

    func consumed(_ count: Int) {
        if let rest { rest.consumed(count) } else { sent += count }
    }

    func close() {
        if let rest { rest.close() } else { hit.reader.leave(after: sent) }
    }
}
