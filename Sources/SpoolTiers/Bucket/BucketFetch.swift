package import SpoolCore

/// One request that a bucket may answer: which server is asked next, and whose answer counts.
///
/// A pure state machine; `BucketPolicy` sends the requests. The bucket is asked for the object's
/// description first. Then the origin confirms the version: it gets the reader's own request with
/// `If-None-Match`. A 304 lets the bucket send the bytes; any other answer is the answer. When the
/// origin can't be reached or fails, the bucket sends a version that may be used stale, as the
/// store does. A request with `If-Range` names the version itself, so it needs no confirmation. The
/// head goes to the reader with the first verified chunk, and until then the origin can still take
/// over.
package struct BucketFetch: Sendable {
    private enum State: Equatable {
        /// The bucket was asked for the last bytes of the object. → looking, confirming, copying,
        /// decided
        case looking(further: Bool)
        /// The origin was asked whether it still has this version. → copying, decided
        case confirming(BucketManifest)
        /// The bucket was asked for the bytes of the range. → decided
        case copying(BucketManifest, ByteRange)
        /// The reader has the head of the bucket's answer, or gets the origin's answer.
        case decided
    }

    /// The consequence of an event.
    package enum Step: Equatable, Sendable {
        /// The event was late, or changes nothing.
        case nothing
        /// Ask the bucket for as many of the object's last bytes.
        case look(Int)
        /// Ask the origin whether it still has the version with this tag.
        case confirm(tag: String)
        /// Ask the bucket for the chunks of a range.
        case copy(BucketManifest, ByteRange)
        /// Send the request to the origin as it is, for this reason, or because the bucket has no
        /// such object.
        case askOrigin(Trouble?)
        /// Pass the origin's answer on.
        case pass
    }

    /// The reason why the bucket did not serve.
    package enum Trouble: Hashable, Sendable {
        /// It failed, was too slow, or refused the request.
        case failed(String)
        /// It sent other bytes than those that were stored there.
        case damaged
        /// Another node replaced the object meanwhile.
        case replaced
    }

    private let asked: HTTPFields
    private var state: State
    /// The fields of the reader's answer, once the version is certain.
    private var answerFields: HTTPFields = [:]

    /// Creates the state for a request.
    ///
    /// - Parameters:
    ///   - fields: The fields of the request.
    ///   - known: The description of the object, if an earlier request has read it.
    /// - Returns: The state, and the first step.
    package static func begin(_ fields: HTTPFields, known: BucketManifest?) -> (BucketFetch, Step) {
        var fetch = BucketFetch(asked: fields, state: .looking(further: false))
        let step = known.map { fetch.found($0) } ?? .look(BucketManifest.firstLookBytes)
        return (fetch, step)
    }

    /// Whether the bucket is asked now, and the reader has nothing yet.
    package var waitsForBucket: Bool {
        switch state {
        case .looking, .copying: true
        default: false
        }
    }

    // MARK: Events

    /// The bucket sent the last bytes of the object.
    package mutating func tailReceived(_ reading: BucketManifest.Reading) -> Step {
        guard case .looking(let further) = state else { return .nothing }
        switch reading {
        case .manifest(let manifest): return found(manifest)
        case .more(let count) where !further:
            state = .looking(further: true)
            return .look(count)
        case .more, .foreign: return askOrigin(.damaged)
        }
    }

    /// The bucket has no such object.
    package mutating func objectIsMissing() -> Step {
        guard case .looking = state else { return .nothing }
        return askOrigin(nil)
    }

    private mutating func found(_ manifest: BucketManifest) -> Step {
        if let condition = asked[.ifRange] {
            guard condition == manifest.tag else { return askOrigin(nil) }
            answerFields = manifest.fields
            return copy(manifest)
        }
        guard range(of: manifest) != nil else { return askOrigin(nil) }
        state = .confirming(manifest)
        return .confirm(tag: manifest.tag)
    }

    /// The origin answered the request for a confirmation.
    ///
    /// - Parameters:
    ///   - rules: The rules for the use of a stored response.
    ///   - now: The time of the answer.
    package mutating func originAnswered(_ head: ResponseHead, _ rules: UseRules, now: Timestamp) -> Step {
        guard case .confirming(let manifest) = state else { return .pass }
        guard head.status == 304 else {
            let step = originFailed(.status(head.status), rules, now: now)
            if step != .pass { return step }
            state = .decided
            return .pass
        }
        // A 304 about another version contradicts itself. The plain request clears it up.
        if case .strong(let tag) = Validator(fields: head.fields), tag != manifest.tag { return askOrigin(nil) }
        answerFields = Self.confirmed(manifest.fields, by: head)
        return copy(manifest)
    }

    /// The request for a confirmation failed.
    ///
    /// - Returns: The copy of a version that may be used without the origin, or `.pass` if the
    ///   failure is the answer.
    package mutating func originFailed(_ error: OriginError, _ rules: UseRules, now: Timestamp) -> Step {
        guard case .confirming(let manifest) = state, error.isTransient, manifest.mayBeUsedStale(rules, now: now) else { return .pass }
        // With the date of the origin, which shows the age of the answer.
        answerFields = manifest.fields
        return copy(manifest)
    }

    /// Returns the fields of a response after a 304 (RFC 9111 §4.3.4). Without a date of the 304
    /// there is none, because the old one is not that of this answer.
    package static func confirmed(_ fields: HTTPFields, by head: ResponseHead) -> HTTPFields {
        let length = Int64(0), time = Timestamp(nanoseconds: 0)
        var known = Representation(length: length, validator: .none, fields: fields, requestTime: time, responseTime: time)
        known.update(from: head, requestTime: time, responseTime: time)
        if head.fields[.date] == nil { known.fields[.date] = nil }
        return known.fields
    }

    private mutating func copy(_ manifest: BucketManifest) -> Step {
        guard let range = range(of: manifest) else { return askOrigin(nil) }
        state = .copying(manifest, range)
        return .copy(manifest, range)
    }

    /// The range that the request asks for; nil for several ranges, and for none that exists.
    private func range(of manifest: BucketManifest) -> ByteRange? {
        guard asked.contains(.range) else { return ByteRange(0, manifest.length) }
        guard case .ranges(let ranges)? = RangeHeader(asked)?.resolve(length: manifest.length), ranges.count == 1 else { return nil }
        return ranges[0]
    }

    /// The first chunk of the bucket was verified.
    ///
    /// - Returns: The head for the reader, or nil if the chunk came too late.
    package mutating func firstChunkVerified() -> ResponseHead? {
        guard case .copying(let manifest, let range) = state else { return nil }
        state = .decided
        var fields = answerFields
        fields[.contentLength] = "\(range.count)"
        guard asked.contains(.range) else { return ResponseHead(status: 200, fields: fields) }
        fields[.contentRange] = ContentRange.part(range, length: .bytes(manifest.length)).fieldValue
        return ResponseHead(status: 206, fields: fields)
    }

    /// The bucket failed, or sent something else than what was stored, before its first verified
    /// chunk.
    package mutating func bucketFailed(_ trouble: Trouble) -> Step { waitsForBucket ? askOrigin(trouble) : .nothing }

    private mutating func askOrigin(_ trouble: Trouble?) -> Step {
        state = .decided
        return .askOrigin(trouble)
    }
}
