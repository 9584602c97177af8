package import SpoolCore
package import SpoolOrigin

/// What a test origin does with one request. Cases that name another behaviour change that one's answer, so they combine:
/// `.cut(afterBytes: 100, .reset, .paced(pace, .correct))`.
package indirect enum OriginBehaviour: Hashable, Sendable {
    /// What RFC 9110 asks for.
    case correct
    /// The answer at a given pace.
    case paced(OriginPace, OriginBehaviour)
    /// This status with these fields and this body, whatever was asked.
    case status(Int, fields: HTTPFields = [:], body: [UInt8] = [])
    /// 1xx responses with this status before the answer.
    case informational(Int, count: Int, OriginBehaviour)
    /// The answer with these fields; each replaces what the answer has by that name. An empty value is sent empty.
    case fields(HTTPFields, OriginBehaviour)
    /// The answer without the fields of these names.
    case without([String], OriginBehaviour)
    /// The whole body with 200, although a range was asked.
    case ignoresRange
    /// 206 although `If-Range` names another version.
    case ignoresIfRange
    /// 206 whose body and `Content-Range` begin this much later (earlier when negative) than what was asked.
    case shiftedRange(by: Int64)
    /// 206 with at most this many bytes, which RFC 9110 §14.2 allows.
    case shorterRange(maxBytes: Int64)
    /// The answer without `Content-Length`: chunked, or ended by closing the connection.
    case unknownLength(OriginFraming, OriginBehaviour)
    /// The answer, whose body breaks off after so many bytes.
    case cut(afterBytes: Int64, OriginCut, OriginBehaviour)
    /// The answer, whose body stops for ever after so many bytes; the connection stays open.
    case stall(afterBytes: Int64, OriginBehaviour)
    /// The request is taken and nothing is said, for ever.
    case silence
    /// No connection, or one that is reset before a byte of an answer.
    case refuse
    /// These bytes instead of an answer, then the connection is closed. A scripted origin takes them for a broken head.
    case raw([UInt8])

    /// A redirect to `location`, sent as it is.
    package static func redirect(_ status: Int = 302, to location: String) -> OriginBehaviour {
        .status(status, fields: ["Location": location])
    }

    /// The correct answer at a steady rate.
    package static func slow(latency: Int64 = 0, bytesPerSecond: Int64? = nil, chunkBytes: ClosedRange<Int> = 16_384...16_384) -> Self {
        .paced(OriginPace(latency: latency...latency, bytesPerSecond: bytesPerSecond, chunkBytes: chunkBytes), .correct)
    }
}

/// How fast an origin is.
package struct OriginPace: Hashable, Sendable {
    /// From the request to the head, in nanoseconds; drawn from this range.
    package var latency: ClosedRange<Int64>
    /// The rate of the body; nil is as fast as it goes.
    package var bytesPerSecond: Int64?
    /// The size of a chunk, drawn from this range; at least 1.
    package var chunkBytes: ClosedRange<Int>

    package init(latency: ClosedRange<Int64> = 0...0, bytesPerSecond: Int64? = nil, chunkBytes: ClosedRange<Int> = 16_384...16_384) {
        precondition(latency.lowerBound >= 0 && chunkBytes.lowerBound >= 1 && bytesPerSecond ?? 1 >= 1, "a pace goes forward")
        self.latency = latency
        self.bytesPerSecond = bytesPerSecond
        self.chunkBytes = chunkBytes
    }
}

/// How a body is framed.
package enum OriginFraming: Hashable, Sendable {
    /// By `Content-Length`.
    case length
    /// By chunks; the last one is missing when the body is cut.
    case chunked
    /// By the end of the connection.
    case close
}

/// How a body breaks off.
package enum OriginCut: Hashable, Sendable {
    /// The connection is closed in order.
    case close
    /// The connection is reset.
    case reset
}

/// Chooses a behaviour for each request; the second argument counts all requests of an origin from 0.
package typealias OriginScript = @Sendable (OriginRequest, Int) -> OriginBehaviour
