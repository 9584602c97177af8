public import SpoolCore
public import SpoolOrigin

/// The behaviour of a test origin for one request. Cases with another behaviour change the response
/// of that one, so they combine: `.cut(afterBytes: 100, .reset, .paced(pace, .correct))`.
public indirect enum OriginBehaviour: Hashable, Sendable {
    /// The behaviour that RFC 9110 requires.
    case correct
    /// The response at a given pace.
    case paced(OriginPace, OriginBehaviour)
    /// This status with these fields and this body, for any request.
    case status(Int, fields: HTTPFields = [:], body: [UInt8] = [])
    /// 1xx responses with this status before the response.
    case informational(Int, count: Int, OriginBehaviour)
    /// The response with these fields. Each replaces the fields of its name. An empty value is sent
    /// empty.
    case fields(HTTPFields, OriginBehaviour)
    /// The response without the fields of these names.
    case without([String], OriginBehaviour)
    /// The whole body with 200, although the request has a range.
    case ignoresRange
    /// 206 although `If-Range` names another version.
    case ignoresIfRange
    /// 206 with a body and a `Content-Range` that begin this much later than the requested range,
    /// or earlier if negative.
    case shiftedRange(by: Int64)
    /// 206 with at most this many bytes, which RFC 9110 §14.2 allows.
    case shorterRange(maxBytes: Int64)
    /// The response without `Content-Length`: chunked, or ended by closing the connection.
    case unknownLength(OriginFraming, OriginBehaviour)
    /// The response with a body that breaks off after this many bytes.
    case cut(afterBytes: Int64, OriginCut, OriginBehaviour)
    /// The response with a body that stops for ever after this many bytes. The connection stays
    /// open.
    case stall(afterBytes: Int64, OriginBehaviour)
    /// No response, for ever, although the request is accepted.
    case silence
    /// No connection, or one that is reset before any byte of a response.
    case refuse
    /// These bytes instead of a response, and then the end of the connection. A scripted origin
    /// treats them as a broken head.
    case raw([UInt8])

    /// Returns a redirect to `location`, which is sent unchanged.
    public static func redirect(_ status: Int = 302, to location: String) -> OriginBehaviour {
        .status(status, fields: ["Location": location])
    }

    /// Returns the correct response at a steady rate.
    public static func slow(latency: Int64 = 0, bytesPerSecond: Int64? = nil, chunkBytes: ClosedRange<Int> = 16_384...16_384) -> Self {
        .paced(OriginPace(latency: latency...latency, bytesPerSecond: bytesPerSecond, chunkBytes: chunkBytes), .correct)
    }
}

/// The speed of an origin.
public struct OriginPace: Hashable, Sendable {
    /// The time from the request to the head in nanoseconds, drawn from this range.
    public var latency: ClosedRange<Int64>
    /// The rate of the body, or nil for unlimited.
    public var bytesPerSecond: Int64?
    /// The size of a chunk, drawn from this range; at least 1.
    public var chunkBytes: ClosedRange<Int>

    /// Creates a pace, by default without delay.
    public init(latency: ClosedRange<Int64> = 0...0, bytesPerSecond: Int64? = nil, chunkBytes: ClosedRange<Int> = 16_384...16_384) {
        precondition(latency.lowerBound >= 0 && chunkBytes.lowerBound >= 1 && bytesPerSecond ?? 1 >= 1, "a pace goes forward")
        self.latency = latency
        self.bytesPerSecond = bytesPerSecond
        self.chunkBytes = chunkBytes
    }
}

/// The framing of a body.
public enum OriginFraming: Hashable, Sendable {
    /// By `Content-Length`.
    case length
    /// By chunks. The last one is missing when the body is cut.
    case chunked
    /// By the end of the connection.
    case close
}

/// The way in which a body breaks off.
public enum OriginCut: Hashable, Sendable {
    /// The connection is closed in order.
    case close
    /// The connection is reset.
    case reset
}

/// Returns the behaviour for a request. The second argument counts all requests of an origin from
/// 0.
public typealias OriginScript = @Sendable (OriginRequest, Int) -> OriginBehaviour
