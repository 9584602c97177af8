import SpoolCore
import SpoolOrigin
import SpoolSystem

/// The origin of one `HTTPCase`: it answers each request with the answer of the current step, and
/// records the request.
///
/// A field named `103 Link` belongs to an interim response with status 103. A client that asks for a
/// head gets it before the body comes, so that the fetch ends without the body.
final class TableOrigin: Transport {
    struct Asked: Sendable {
        var method: String
        var url: String
        var fields: HTTPFields
        var body: [UInt8]
    }

    private struct State {
        var answer: HTTPCase.Answer?
        var isForHead = false
        var number = 0
        var date = Timestamp(seconds: 0)
        var asked: [Asked] = []
        /// The validators of the last complete answer.
        var tag: String?
        var modified: String?
    }

    private let lane = DiskLane(name: "origin")
    private let state = Locked(State())

    var windowBytes: Int64? { nil }

    /// Answers as a step says from now on. `date` is the value of `Date`.
    func answer(_ step: HTTPCase.Step, number: Int, date: Timestamp) {
        state.withLock { state in
            (state.answer, state.isForHead) = (step.answer, step.method == "HEAD")
            state.number = number
            state.date = date
            state.asked = []
        }
    }

    var asked: [Asked] { state.withLock { $0.asked } }

    func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        let transfer = LaneTransfer(receiver, lane)
        lane.post { [self] in
            let body = TableOrigin.read(request.body)
            let (answered, content) = respond(to: request, body)
            var head = answered
            if let hint = head.fields["103 Link"] {
                receiver.interimReceived(ResponseHead(status: 103, fields: ["Link": hint]))
                head.fields["103 Link"] = nil
            }
            let hasContent = request.method != "HEAD" && ![204, 304].contains(head.status)
            transfer.send(head, !hasContent ? [] : state.withLock { $0.isForHead } ? nil : content)
        }
        return transfer
    }

    func close() { lane.shutdown() }

    private static func read(_ body: RequestBody?) -> [UInt8] {
        guard let body else { return [] }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let part = buffer.withUnsafeMutableBytes { body.read(into: $0) }
            guard case .bytes(let count) = part else { return bytes }
            bytes += buffer[..<count]
        }
    }

    private func respond(to request: OriginRequest, _ body: [UInt8]) -> (ResponseHead, [UInt8]) {
        state.withLock { state in
            state.asked.append(Asked(method: request.method, url: request.url, fields: request.fields, body: body))
            guard let answer = state.answer else { return (ResponseHead(status: 599, fields: ["Content-Length": "0"]), []) }
            var fields = HTTPFields()
            for field in answer.fields where field.name != "no" {
                fields.append(HTTPFields.Name(field.name), TableOrigin.dated(field.value, state.date))
            }
            if !fields.contains("Date"), !answer.fields.contains(where: { $0.name == "no Date" }) {
                fields["Date"] = HTTPDate.format(state.date)
            }
            fields["no Date"] = nil
            var status = answer.status ?? 304
            if answer.status == nil {
                let tagMatches = state.tag.map { request.fields.combined("If-None-Match")?.contains($0) ?? false }
                let dateMatches = state.modified.map { request.fields["If-Modified-Since"] == $0 }
                if !(tagMatches ?? dateMatches ?? false) { status = 599 }
            }
            if status != 304, request.method == "GET" {
                state.tag = fields["ETag"]
                state.modified = fields["Last-Modified"]
            }
            let content = Array((answer.body ?? "body \(state.number)").utf8)
            if status != 204, status != 304, !fields.contains("Content-Length"), !fields.contains("Transfer-Encoding") {
                fields["Content-Length"] = String(content.count)
            }
            if !fields.contains("Content-Type") { fields["Content-Type"] = "text/plain" }
            return (ResponseHead(status: status, fields: fields), content)
        }
    }

    /// Returns the value with `@seconds` replaced by a date, so many seconds after `date`.
    static func dated(_ value: String, _ date: Timestamp) -> String {
        guard value.hasPrefix("@"), let seconds = Int64(value.dropFirst()) else { return value }
        return HTTPDate.format(Timestamp(seconds: date.seconds + seconds))
    }
}
