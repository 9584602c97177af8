/// The meaning of a response's head for a request of bytes from some offset on.
package enum ResponseOutcome: Hashable, Sendable {
    /// A part, and the complete length as stated (RFC 9110 §15.3.7).
    case partial(ByteRange, total: StatedLength)
    /// The whole, from byte 0 (RFC 9110 §15.3.1), and its length as stated.
    case full(length: StatedLength)
    /// The stored version is current (RFC 9110 §15.4.5).
    case notModified
    /// No byte at the requested offset, and the complete length where it is stated (RFC 9110
    /// §15.5.17).
    case notSatisfiable(length: Int64?)
    /// Any other status, or a head that contradicts itself.
    case failed(OriginError)

    /// The complete length; nil where it is not stated.
    package var length: Int64? {
        switch self {
        case .partial(_, let length), .full(let length): length.bytes
        case .notSatisfiable(let length): length
        case .notModified, .failed: nil
        }
    }

    /// The reason why the stated length forbids storing; nil when it does not.
    package var passReason: NotStoredReason? {
        switch self {
        case .partial(_, .beyondBound), .full(.beyondBound): .lengthBeyondBound
        default: nil
        }
    }

    /// Whether body bytes of the resource follow.
    var bringsBytes: Bool {
        switch self {
        case .partial, .full: true
        case .notModified, .notSatisfiable, .failed: false
        }
    }

    /// Reads the status and the fields that determine its meaning.
    /// - Parameter start: the requested offset.
    package init(_ head: ResponseHead, start: Int64) {
        switch head.status {
        case 200:
            self = Self.full(head)
        case 206:
            self = Self.partial(head)
        case 304:
            self = .notModified
        case 416:
            self = .notSatisfiable(length: Self.unsatisfiedLength(head))
        default:
            self = .failed(.status(head))
        }
    }

    /// Reads the head of a response with any other status, whose body is that response's own.
    package static func whole(_ head: ResponseHead) -> ResponseOutcome {
        if StatusRules.hasNoContent(head.status) { return .full(length: .bytes(0)) }
        var head = head
        head.fields[.contentRange] = nil
        return full(head)
    }

    private static func full(_ head: ResponseHead) -> ResponseOutcome {
        guard !isPart(head) else { return .failed(.malformed("a 200 with the Content-Range of a part")) }
        let values = head.fields.values(of: .contentLength)
        // With a transfer coding, the framing determines the length (RFC 9112 §6.3).
        guard !values.isEmpty, head.fields[.transferEncoding] == nil else { return .full(length: .unknown) }
        do {
            return .full(length: try ContentLength.parse(values))
        } catch {
            return .failed(.malformed("Content-Length: \(error)"))
        }
    }

    /// Whether the `Content-Range` of a 200 names a part and its length agrees, so that the head
    /// contradicts itself.
    ///
    /// The field has no meaning in a 200 (RFC 9110 §14.4). It is ignored where `Content-Length` is
    /// not the length of the part.
    private static func isPart(_ head: ResponseHead) -> Bool {
        let body = head.fields[.contentLength]
        return head.fields.values(of: .contentRange).contains { value in
            guard case .part(let served, let length)? = try? ContentRange(value) else { return false }
            guard served.lowerBound > 0 || served.upperBound < length.bytes ?? 0 else { return false }
            return body == nil || body == String(served.count)
        }
    }

    /// The complete length that a 416 states, or nil if it states none that is well formed. The
    /// field is advisory there (RFC 9110 §15.5.17).
    private static func unsatisfiedLength(_ head: ResponseHead) -> Int64? {
        do {
            guard case .unsatisfied(let length)? = try ContentRange.parse(head.fields) else { return nil }
            return length.bytes
        } catch {
            return nil
        }
    }

    private static func partial(_ head: ResponseHead) -> ResponseOutcome {
        if let type = head.fields[.contentType].flatMap(MediaType.init), type.essence == "multipart/byteranges" {
            // The request named one range only (RFC 9110 §15.3.7.2).
            return .failed(.malformed("a 206 of several parts for one range"))
        }
        let values = Set(head.fields.values(of: .contentRange))
        guard values.count == 1, let value = values.first else {
            return .failed(.malformed("a 206 with \(values.isEmpty ? "no" : "several different") Content-Range"))
        }
        do {
            guard case .part(let served, let length) = try ContentRange(value) else {
                return .failed(.malformed("a 206 with an unsatisfied Content-Range"))
            }
            return .partial(served, total: length)
        } catch {
            return .failed(.malformed("Content-Range: \(error)"))
        }
    }
}

extension Representation {
    /// Whether another response looks like this one to a consumer that has only the description and
    /// no bytes.
    ///
    /// Length, type and coding have to be equal, and the validators must not contradict that. This
    /// is never a reason to combine bytes of both in one answer.
    package func looksLike(_ other: Representation) -> Bool {
        guard status == other.status, length == other.length, contentType == other.contentType, contentCoding == other.contentCoding else {
            return false
        }
        return validator == other.validator || validator == .none || other.validator == .none
    }

    /// Whether a response is of this version.
    ///
    /// - Parameter isConditional: whether the response is a 206 to a request with `If-Range`. Such
    ///   a response is of the same version and may leave out validators (RFC 9110 §15.3.7).
    func isSame(as candidate: Representation, isConditional: Bool) -> Bool {
        if let length, let other = candidate.length, length != other { return false }
        guard status == candidate.status, contentCoding == candidate.contentCoding else { return false }
        switch (validator, candidate.validator) {
        case (.strong(let a), .strong(let b)): return a == b
        case (.weak(let a), .weak(let b)): return a == b
        case (.lastModified(let a, _), .lastModified(let b, _)): return a == b
        // Without validators, an equal length is the least evidence. Without a length there is
        // none.
        case (.none, .none): return length != nil && length == candidate.length
        case (_, .none), (.strong, .lastModified): return isConditional
        default: return false
        }
    }
}
