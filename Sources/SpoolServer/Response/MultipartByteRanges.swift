package import SpoolCore
import SpoolSystem

/// The body of a response with several ranges, each behind a small head of its own (RFC 9110
/// §14.6).
///
/// The sources of the parts are opened in order, each when its turn comes and after the one before
/// it is closed.
package final class MultipartByteRanges: BodySource {
    /// One range of the representation.
    package struct Part {
        /// The bytes of the part.
        package var range: ByteRange
        /// Opens the source of exactly the range's bytes.
        package var open: () -> any BodySource

        /// Creates a part whose source `open` returns.
        package init(_ range: ByteRange, open: @escaping () -> any BodySource) {
            self.range = range
            self.open = open
        }
    }

    /// The value for the response's `Content-Type`.
    package let contentType: String
    /// The length of the whole body in bytes.
    package let length: Int64

    private let parts: [Part]
    private let heads: [OwnedBytes]
    private let trailer: OwnedBytes
    private var state = State.head(part: 0, sent: 0)
    private var source: (any BodySource)?
    private var wake: (@Sendable () -> Void)?

    private enum State {
        /// The head of a part goes out. `part` may be one past the last, which means the trailer. →
        /// body, ended
        case head(part: Int, sent: Int)
        /// The bytes of a part go out. → head
        case body(part: Int, remaining: Int64)
        case ended
    }

    /// Creates the body of a multipart response.
    ///
    /// - Parameters:
    ///   - parts: At least one part, in the order of sending.
    ///   - partType: The representation's media type, if it has one.
    ///   - total: The representation's length, or nil when it is unknown.
    ///   - boundary: A token of at most 70 characters that does not occur in the parts. Make it of
    ///     128 random bits.
    package init(parts: [Part], partType: String?, total: Int64?, boundary: String) {
        precondition(!parts.isEmpty, "a multipart body has at least one part")
        precondition((1...70).contains(boundary.utf8.count) && boundary.utf8.allSatisfy(Grammar.isToken), "the boundary is no token")
        self.parts = parts
        contentType = "multipart/byteranges; boundary=\(boundary)"
        heads = parts.indices.map { index in
            var head = index == 0 ? "--\(boundary)\r\n" : "\r\n--\(boundary)\r\n"
            if let partType { head += "Content-Type: \(Self.singleLine(partType))\r\n" }
            let range = parts[index].range
            head += "Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total.map { "\($0)" } ?? "*")\r\n\r\n"
            return OwnedBytes(copying: Array(head.utf8))
        }
        trailer = OwnedBytes(copying: Array("\r\n--\(boundary)--\r\n".utf8))
        // The parts of one representation neither overlap nor reach beyond
        // `ByteRange.maximumOffset`.
        length = parts.reduce(0) { $0 + $1.range.count } + heads.reduce(0) { $0 + Int64($1.count) } + Int64(trailer.count)
    }

    /// Sets the closure to call when `.wait` is over.
    package func onReadable(_ wake: @escaping @Sendable () -> Void) {
        self.wake = wake
    }

    /// Returns the next chunk: a part's head, bytes of a part, or the trailer.
    package func next(max: Int) -> BodyChunk {
        switch state {
        case .head(let part, let sent):
            return .memory((part < parts.count ? heads[part] : trailer).dropFirst(sent).prefix(max))
        case .body(let part, let remaining): return nextOfBody(part, Int(min(Int64(max), remaining)))
        case .ended: return .end
        }
    }

    private func nextOfBody(_ part: Int, _ max: Int) -> BodyChunk {
        let source = openSource(part)
        switch source.next(max: max) {
        case .end: return .abort("the source of part \(part + 1) ended too early")
        case .file(let descriptor, let offset, let count, let keepAlive):
            return .file(descriptor: descriptor, offset: offset, count: min(count, max), keepAlive: keepAlive)
        case .memory(let bytes): return .memory(bytes.prefix(max))
        case let other: return other
        }
    }

    /// Asks the current part's source whether the last chunk may still be sent.
    package func maySend(_ file: AnyObject) -> Bool { source?.maySend(file) != false }

    /// Asks the current part's source to supply the bytes in another way.
    package func couldNotRead() -> Bool { source?.couldNotRead() == true }

    private func openSource(_ part: Int) -> any BodySource {
        if let source { return source }
        let opened = parts[part].open()
        if let wake { opened.onReadable(wake) }
        source = opened
        return opened
    }

    /// Advances by `count` bytes that went to the client.
    package func consumed(_ count: Int) {
        switch state {
        case .head(let part, let sent): headSent(part, sent + count)
        case .body(let part, let remaining):
            source?.consumed(count)
            if remaining > Int64(count) {
                state = .body(part: part, remaining: remaining - Int64(count))
            } else {
                closeSource()
                state = .head(part: part + 1, sent: 0)
            }
        case .ended: break
        }
    }

    private func headSent(_ part: Int, _ sent: Int) {
        let total = part < parts.count ? heads[part].count : trailer.count
        if sent < total {
            state = .head(part: part, sent: sent)
        } else {
            state = part < parts.count ? .body(part: part, remaining: parts[part].range.count) : .ended
        }
    }

    /// Closes the source of the current part.
    package func close() {
        closeSource()
        state = .ended
    }

    private func closeSource() {
        source?.close()
        source = nil
    }

    /// Removes control characters, so that an origin's media type cannot add lines.
    private static func singleLine(_ text: String) -> String {
        String(decoding: text.utf8.filter { $0 >= 0x20 && $0 != 0x7F }, as: UTF8.self)
    }
}
