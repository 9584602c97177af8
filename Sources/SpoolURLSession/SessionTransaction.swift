internal import Foundation
package import SpoolCore

/// The times of one transaction of a task of `URLSession`: one request and its response.
///
/// It has the values of `URLSessionTaskTransactionMetrics`, which exist on Apple's systems only.
package struct SessionTransaction: Hashable, Sendable {
    /// The times in seconds since any moment. Nil if the transaction did not get there.
    package var fetchStart: Double?
    /// The time at which the connection was open, with its TLS. Nil on a reused connection.
    package var connectEnd: Double?
    /// The first byte of the response.
    package var responseStart: Double?
    /// The last byte of the response.
    package var responseEnd: Double?
    /// Whether the request used a connection of an earlier one.
    package var reusesConnection = false
    /// The protocol as ALPN names it.
    package var protocolName: String?
    /// The bytes of head and body as they crossed the network.
    package var receivedBytes: Int64 = 0

    /// Creates a transaction without any time.
    package init() {}

    /// Returns the timings of a task: the times of its last transaction, and the bytes of all.
    ///
    /// - Returns: Nil if the task did not send a request.
    package static func timings(of transactions: [SessionTransaction]) -> TransferTimings? {
        guard let last = transactions.last, let start = last.fetchStart else { return nil }
        let end = [last.responseEnd, last.responseStart, last.connectEnd, start].compactMap { $0 }.max() ?? start
        let bytes = transactions.reduce(0) { $0 + $1.receivedBytes }
        var timings = TransferTimings(total: .seconds(max(0, end - start)), receivedBytes: bytes)
        timings.firstByte = last.responseStart.map { .seconds(max(0, $0 - start)) }
        timings.reusesConnection = last.reusesConnection
        if !last.reusesConnection { timings.connect = last.connectEnd.map { .seconds(max(0, $0 - start)) } }
        timings.protocolName = last.protocolName
        return timings
    }
}

#if canImport(Darwin)
extension SessionTransaction {
    init(_ metrics: URLSessionTaskTransactionMetrics) {
        fetchStart = metrics.fetchStartDate?.timeIntervalSinceReferenceDate
        connectEnd = metrics.connectEndDate?.timeIntervalSinceReferenceDate
        responseStart = metrics.responseStartDate?.timeIntervalSinceReferenceDate
        responseEnd = metrics.responseEndDate?.timeIntervalSinceReferenceDate
        reusesConnection = metrics.isReusedConnection
        protocolName = metrics.networkProtocolName
        receivedBytes = metrics.countOfResponseHeaderBytesReceived + metrics.countOfResponseBodyBytesReceived
    }
}
#endif
