/// The times, the connection and the bytes of one request to an origin, as its transport measured
/// them.
public struct TransferTimings: Hashable, Sendable {
    /// The time until the connection was open: name lookup, TCP and TLS. Nil if the request used a
    /// connection that was open already, if none was opened, or if the transport does not measure
    /// it.
    public var connect: Duration?
    /// The time until the first byte of the answer, or nil if none came.
    public var firstByte: Duration?
    /// The time until the end of the request, with the pauses of its readers.
    public var total: Duration
    /// The bytes of the response as they crossed the network, as far as the transport counts them:
    /// the body, and the head where the transport counts it.
    public var receivedBytes: Int64
    /// Whether the request used a connection of an earlier one. Nil if that is unknown.
    public var reusesConnection: Bool?
    /// The protocol by its registered name: `http/1.1`, `h2` or `h3`. Nil if it is unknown.
    public var protocolName: String?

    /// Creates timings of a request that ended after `total`.
    public init(total: Duration, receivedBytes: Int64) {
        self.total = total
        self.receivedBytes = receivedBytes
    }

    /// The bytes in a second from the first byte to the end, or nil if that took no time.
    public var bytesPerSecond: Double? {
        guard let firstByte, total > firstByte else { return nil }
        return Double(receivedBytes) / ((total - firstByte) / .seconds(1))
    }
}

extension TransferTimings: CustomStringConvertible {
    /// The timings in one line, with times in milliseconds.
    public var description: String {
        var words = ["\(Self.milliseconds(total)) ms", "\(receivedBytes) bytes received"]
        if let firstByte { words.append("first byte after \(Self.milliseconds(firstByte)) ms") }
        if let connect { words.append("connected after \(Self.milliseconds(connect)) ms") }
        if reusesConnection == true { words.append("on an open connection") }
        if let bytesPerSecond { words.append("\(Int64(saturating: bytesPerSecond)) bytes a second") }
        if let protocolName { words.append(protocolName) }
        return words.joined(separator: ", ")
    }

    private static func milliseconds(_ time: Duration) -> Int64 { Int64(saturating: time) / 1_000_000 }
}
