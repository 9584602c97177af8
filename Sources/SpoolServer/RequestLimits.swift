/// What a request may weigh. Each limit answers with its own status, so that a client learns what was too much.
package struct RequestLimits: Hashable, Sendable {
    /// The longest request line in bytes; beyond it 414. Signed URLs run to 2 KiB, nested ones to 4.
    package var requestLineBytes = 8 * 1024
    /// All field lines together, in bytes; beyond it 431. Cookies are 4 KiB each.
    package var fieldBytes = 32 * 1024
    /// The number of field lines; beyond it 431. Browsers send about 20.
    package var fieldCount = 100
    /// The longest request body that is read and dropped, in bytes; beyond it 413. Nothing here takes a body.
    package var skippedBodyBytes = 64 * 1024
    /// The longest request body that a handler may take, in bytes; beyond it 413. None unless it says so.
    package var takenBodyBytes: Int64 = 0
    /// Empty lines before the request line (RFC 9112 §2.2 wants at least one taken); beyond it 400.
    package var leadingEmptyLines = 4

    package init() {}
}

/// Why a request gets no answer of the handler's: the status to send and what to tell the client.
///
/// After a refusal nothing on the connection can be trusted to begin a request, so it is closed.
package struct RequestRefusal: Error, Hashable, Sendable {
    package var status: Int
    /// What was wrong, and what to do.
    package var explanation: String

    package init(_ status: Int, _ explanation: String) {
        self.status = status
        self.explanation = explanation
    }
}
