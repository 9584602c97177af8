/// The limits on the size of a request. Each limit has its own status, so that a client can see
/// which one it exceeded.
package struct RequestLimits: Hashable, Sendable {
    /// The longest request line in bytes; 414 beyond it. A signed URL of 32 KiB fits as a query
    /// item, where its escapes take more.
    package var requestLineBytes = 64 * 1024
    /// The most bytes that `requestLineBytes` and `fieldBytes` may be: a head is held in memory.
    static let longestPart = 1 << 20
    /// The longest sum of all field lines in bytes; 431 beyond it. Cookies take up to 4 KiB each.
    package var fieldBytes = 32 * 1024
    /// The largest number of field lines; 431 beyond it. Browsers send about 20.
    package var fieldCount = 100
    /// The longest request body that the server reads and drops, in bytes; 413 beyond it.
    package var skippedBodyBytes = 64 * 1024
    /// The longest request body that a handler may take, in bytes; 413 beyond it. By default
    /// handlers take none.
    package var takenBodyBytes: Int64 = 0
    /// The largest number of empty lines before the request line; 400 beyond it. RFC 9112 §2.2 asks
    /// a server to accept at least one.
    package var leadingEmptyLines = 4

    /// Creates the default limits.
    package init() {}
}

/// The reason why the server answers a request without the handler: the status to send and a text
/// for the client.
///
/// After a refusal, no byte of the connection reliably begins a request. So the connection is
/// closed.
package struct RequestRefusal: Error, Hashable, Sendable {
    /// The status code of the response.
    package var status: Int
    /// The text for the client: what was wrong, and what to do.
    package var explanation: String

    /// Creates a refusal from its status and explanation.
    package init(_ status: Int, _ explanation: String) {
        self.status = status
        self.explanation = explanation
    }
}
