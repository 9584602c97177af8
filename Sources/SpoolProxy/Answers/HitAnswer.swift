import Spool
import SpoolCore
import SpoolServer

/// The short path of a `ResourceAnswer`, for a GET whose bytes are stored, verified and usable
/// without asking the origin.
///
/// It keeps the parts that hits of a resource share. A hit then costs one event of the session and
/// a few copied bytes. Belongs to the loop's thread.
final class HitAnswer: RangeResponder {
    private let cache: MediaCache
    private let key: ResourceKey
    private let url: MediaURL
    private let policy: CachePolicy
    private let fieldRules: ResourceFields
    private let manifests: ManifestDoor
    private let hash: URLHash
    private var link = SessionLink()
    private var head: Head?

    /// The head of hits on one version, without the fields that differ between hits.
    private struct Head {
        var version: HitVersion
        /// Whether the response came from another origin than the site that the proxy stands in
        /// for.
        var isForeign: Bool
        var lines: FieldLines
        var age: ResponseAge
        /// The arrival of the response, or its last confirmation.
        var responseTime: Timestamp
    }

    init(
        cache: MediaCache, key: ResourceKey, url: MediaURL, policy: CachePolicy, fields: ResourceFields, manifests: ManifestDoor
    ) {
        self.manifests = manifests
        hash = URLHash(url.text)
        self.cache = cache
        self.key = key
        self.url = url
        self.policy = policy
        fieldRules = fields
    }

    /// Answers a request that is a plain hit.
    ///
    /// - Returns: False when the request or the stored bytes need the long path. There are no side
    ///   effects then.
    func respond(to request: RequestHead, on exchange: Exchange) -> Bool {
        guard request.method == "GET", !Self.deviates.contains(where: request.has), !fieldRules.wantsDocument(request) else { return false }
        let spec: RangeHeader.Spec?
        if let value = request[.range] {
            // An invalid range is ignored, and several ranges take the long path.
            guard let range = RangeHeader(value), range.specs.count == 1 else { return false }
            spec = range.specs[0]
        } else {
            spec = nil
        }
        // A browser that shows or runs it goes to its own origin, which the long path arranges.
        let mayBeForeign = !request.has(.secFetchDest) || BrowserDestination(request[.secFetchDest]) == .other
        guard let response = response(to: spec, mayBeForeign: mayBeForeign) else { return false }
        if mayBeForeign { exchange.rangeResponder = self }
        exchange.respond(response)
        return true
    }

    func response(to spec: RangeHeader.Spec?) -> Response? { response(to: spec, mayBeForeign: true) }

    private func response(to spec: RangeHeader.Spec?, mayBeForeign: Bool) -> Response? {
        guard let hit = link.hit(in: cache, key: key, url: url, spec: spec, policy: policy, max: Self.turnBytes) else { return nil }
        guard let head = head(of: hit), mayBeForeign || !head.isForeign, !isOutdatedPart(head) else {
            hit.leave(after: 0)
            return nil
        }
        let found = hit.found.hit
        let fields = PreparedFields(
            head.lines, age: head.age.seconds(now: hit.time),
            part: spec == nil ? nil : PreparedFields.Part(found.range, of: found.length))
        let length = found.range.count
        return Response(spec == nil ? 200 : 206, prepared: fields, body: .source(HitBodySource(consume hit), length: length))
    }

    /// Whether the bytes are a part of a live presentation that may mean other bytes by now.
    private func isOutdatedPart(_ head: Head) -> Bool {
        guard policy == .explicit, let part = manifests.livePart(hash) else { return false }
        return part.confirmedSince.map { head.responseTime < $0 } ?? true
    }

    /// Fields that make a request more than a plain request for bytes.
    private static let deviates: [HTTPFields.Name] = [
        .ifMatch, .ifUnmodifiedSince, .ifNoneMatch, .ifModifiedSince, .ifRange, .cacheControl, .pragma, .origin, "TimeSeekRange.dlna.org",
        "PlaySpeed.dlna.org", "A-IM",
    ]

    /// The number of bytes handed out before the session is asked again: those of one turn of a
    /// connection.
    private static let turnBytes = Int64(ServerOptions.turnBytes)

    private func head(of hit: StoredHit) -> Head? {
        if let head, head.version == hit.version { head } else { makeHead(of: hit) }
    }

    private func makeHead(of hit: StoredHit) -> Head? {
        // The references of a manifest lead through the proxy, which the long path arranges.
        guard let (representation, version) = hit.current, !ManifestReading.mayBeManifest(representation, url: url.text) else { return nil }
        let rules = fieldRules.of(representation)
        var fields = rules.content(of: representation, .hit)
        fields[.contentRange] = nil
        fields[.age] = nil
        do throws(FieldLines.InvalidField) {
            let isForeign = rules.isSite != fieldRules.isSite
            let head = Head(
                version: version, isForeign: isForeign, lines: try FieldLines(fields), age: representation.age,
                responseTime: representation.responseTime)
            self.head = head
            return head
        } catch {
            // The long path reports the error.
            return nil
        }
    }
}

/// The bytes of a hit. The first ones come directly from the stored file, and the others from a
/// reader of the session.
final class HitBodySource: BodySource {
    private let hit: StoredHit
    /// The number of bytes of `hit.found.hit.stored` that were sent.
    private var sent = 0
    /// Whether the first bytes were handed out.
    private var isUnderWay = false
    /// Whether sending from the file failed.
    private var isUnreadable = false
    /// The source that continues behind the first bytes.
    private var rest: SessionBodySource?
    private var wake: @Sendable () -> Void = {}

    init(_ hit: StoredHit) {
        self.hit = hit
    }

    func onReadable(_ wake: @escaping @Sendable () -> Void) { self.wake = wake }

    func next(max: Int) -> BodyChunk {
        if let rest { return rest.next(max: max) }
        let left = isUnreadable ? 0 : Int(hit.found.hit.stored.count) - sent
        // The session hands out the first bytes to be sent at once. Later the file may become
        // unusable: the store is suspended or has closed the file, or another process has changed
        // it. Then the session's reader continues.
        if left > 0, let descriptor = isUnderWay ? hit.found.file.descriptor : hit.found.descriptor {
            isUnderWay = true
            return .file(
                descriptor: descriptor.number, offset: hit.found.hit.stored.lowerBound + Int64(sent), count: min(left, max),
                keepAlive: descriptor.owner)
        }
        let relay = WakeRelay()
        relay.set(wake)
        let rest = SessionBodySource(reader: hit.reader(after: sent) { relay.wake() }, relay: relay, mustRead: isUnreadable)
        self.rest = rest
        return rest.next(max: max)
    }

    func maySend(_ file: AnyObject) -> Bool { rest?.maySend(file) ?? (hit.found.file.descriptor != nil) }

    func consumed(_ count: Int) {
        if let rest { rest.consumed(count) } else { sent += count }
    }

    func couldNotRead() -> Bool {
        if let rest { return rest.couldNotRead() }
        isUnreadable = true
        return true
    }

    func close() {
        if let rest { rest.close() } else { hit.leave(after: sent) }
    }
}
