import Spool
import SpoolCore
import SpoolServer

/// Sends a completely stored resource as a download. No byte comes from the origin.
///
/// Belongs to the loop of its exchange.
final class PageDownload {
    private let exchange: Exchange
    private let download: PageSessions.Download
    private let relay = WakeRelay()
    private var reader: SessionReader?
    private var isAnswered = false

    init(_ download: PageSessions.Download, on exchange: Exchange) {
        self.download = download
        self.exchange = exchange
    }

    /// Begins. The response comes now or later.
    func begin(from cache: MediaCache) {
        // The relay keeps this object alive until the response, or until the client leaves.
        let (loop, box) = (exchange.loop, LoopConfined(self))
        relay.set { loop.post { box.value.proceed() } }
        exchange.onClose {
            self.isAnswered = true
            self.leave()
        }
        do throws(CacheError) {
            reader = try cache.sessionReader(
                for: download.url, key: download.key, start: 0, end: nil, wantsBytes: true, options: ReadOptions(mode: .onlyStored),
                wake: { [relay] in relay.wake() })
        } catch {
            return fail(error)
        }
        proceed()
    }

    private func proceed() {
        guard !isAnswered, let reader else { return }
        switch reader.prepare(withFirstByte: true) {
        case .wait: return
        case .failed(let error): fail(error)
        case .ready(_, let representation):
            guard representation.isContent, let length = representation.length, reader.coverage(of: []) == .complete else {
                return fail(CacheError(.notStored, "not all bytes of it are stored; fetch it whole first", key: download.key))
            }
            reader.markTold()
            isAnswered = true
            let body = SessionBodySource(reader: reader, relay: relay)
            exchange.respond(Response(200, fields: Self.fields(download.name), body: .source(body, length: length)))
        }
    }

    /// A browser stores the bytes and interprets none of them.
    private static func fields(_ name: String) -> HTTPFields {
        let plain = String(name.unicodeScalars.map { $0.isASCII && $0.value >= 0x20 && $0 != "\"" && $0 != "\\" ? Character($0) : "_" })
        return [
            .contentType: "application/octet-stream", .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy: "sandbox; default-src 'none'",
            "Content-Disposition": "attachment; filename=\"\(plain)\"; filename*=UTF-8''\(name.percentEncoded)",
        ]
    }

    private func fail(_ error: CacheError) {
        isAnswered = true
        leave()
        exchange.respond(.refusal(RefusalCode(error), status: error.code == .notStored ? 409 : error.statusForClient, error.message))
    }

    private func leave() {
        relay.clear()
        reader?.leave()
        reader = nil
    }
}
