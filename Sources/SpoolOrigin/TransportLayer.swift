/// A transport around another one, which sends the requests.
package protocol TransportLayer: Transport {
    /// The transport that sends the requests.
    var base: any Transport { get }
}

extension TransportLayer {
    /// The most bytes that one request should ask for, as in the transport below.
    package var windowBytes: Int64? { base.windowBytes }

    /// The bytes of the transport below. Bytes that a layer itself supplies are not among them.
    package var receivedBytes: Int64? { base.receivedBytes }

    /// Closes the transport below.
    package func close() { base.close() }
}
