package import SpoolCore

/// Reads the whole body of a request into memory, up to a bound, for a transport that can't send it
/// in parts.
package final class BodyCollector: @unchecked Sendable {
    // Safe to share: only the jobs of `post` use its state, and they run one at a time.
    private let body: RequestBody
    private let limit: Int
    private var bytes: [UInt8] = []
    private var done: (@Sendable (Result<[UInt8], OriginError>) -> Void)?

    /// The most bytes of one read.
    private static let pieceBytes = 65_536

    private init(_ body: RequestBody, limit: Int, done: @escaping @Sendable (Result<[UInt8], OriginError>) -> Void) {
        self.body = body
        self.limit = limit
        self.done = done
    }

    /// Collects `body` and calls `done` once, in a job of `post`.
    ///
    /// - Parameters:
    ///   - limit: The most bytes that the body may have.
    ///   - post: Runs a job. The jobs must run one at a time.
    ///   - done: Called with the bytes, or with the reason why there are none.
    package static func collect(
        _ body: RequestBody, limit: Int, post: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        done: @escaping @Sendable (Result<[UInt8], OriginError>) -> Void
    ) {
        let collector = BodyCollector(body, limit: limit, done: done)
        body.onReadable { post { collector.proceed() } }
        post { collector.proceed() }
    }

    private func proceed() {
        guard done != nil else { return }
        guard body.count <= Int64(limit) else { return end(.failure(.malformed("the request's body is longer than \(limit) bytes"))) }
        var piece = [UInt8](repeating: 0, count: Self.pieceBytes)
        while true {
            switch piece.withUnsafeMutableBytes({ body.read(into: $0) }) {
            case .bytes(let count): bytes += piece[..<count]
            case .wait: return
            case .end: return end(.success(bytes))
            case .broken: return end(.failure(.unreachable("the request's body broke off before its end")))
            }
        }
    }

    private func end(_ result: Result<[UInt8], OriginError>) {
        let done = self.done
        self.done = nil
        body.onReadable {}
        done?(result)
    }
}
