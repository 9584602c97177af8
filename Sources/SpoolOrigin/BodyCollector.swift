package import SpoolCore

/// Reads the whole body of a request into memory, up to a bound, for what can't take it piece by piece.
package final class BodyCollector: @unchecked Sendable {
    // Safe to share: everything is touched by the jobs of `post` only, which come one at a time.
    private let body: RequestBody
    private let limit: Int
    private var bytes: [UInt8] = []
    private var done: (@Sendable (Result<[UInt8], OriginError>) -> Void)?

    /// What one read may bring.
    private static let pieceBytes = 65_536

    private init(_ body: RequestBody, limit: Int, done: @escaping @Sendable (Result<[UInt8], OriginError>) -> Void) {
        self.body = body
        self.limit = limit
        self.done = done
    }

    /// Calls `done` once, in a job of `post`: with the bytes, or with why there are none.
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
