import SpoolCore
import SpoolOrigin
import SpoolSystem

/// A transport whose origins serve small documents from memory: manifests, keys, segments.
final class DocumentOrigin: Transport {
    /// A document at a URL.
    struct Document {
        var status = 200
        var type: String? = "application/vnd.apple.mpegurl"
        var body: [UInt8]
        var fields: HTTPFields = [:]
        /// Whether the origin names a strong validator.
        var hasTag = true
        /// The error in place of an answer.
        var failure: OriginError?
        /// Whether the origin states the length of the whole.
        var hasLength = true
        var suffixAnswer = SuffixAnswer.part

        /// The answer to a request for the last bytes.
        enum SuffixAnswer: Hashable {
            case part
            case whole
            case status(Int)
            /// A 416, as to a request for any range.
            case noRanges
        }

        init(_ text: String = "", type: String? = "application/vnd.apple.mpegurl", fields: HTTPFields = [:]) {
            self.init(Array(text.utf8), type: type, fields: fields)
        }

        init(_ body: [UInt8], type: String? = "application/vnd.apple.mpegurl", fields: HTTPFields = [:]) {
            self.body = body
            self.type = type
            self.fields = fields
        }

        /// A redirect.
        static func redirect(to location: String) -> Document {
            var document = Document(type: nil, fields: ["Location": location])
            document.status = 302
            document.hasTag = false
            return document
        }
    }

    private struct State {
        var documents: [String: Document] = [:]
        var asked: [OriginRequest] = []
        var isReachable = true
    }

    private let state = Locked(State())
    private let lane = DiskLane(name: "documents")

    init(_ documents: [String: Document] = [:]) {
        state.withLock { $0.documents = documents }
    }

    subscript(url: String) -> Document? {
        get { state.withLock { $0.documents[url] } }
        set { state.withLock { $0.documents[url] = newValue } }
    }

    /// The requests so far.
    var asked: [OriginRequest] { state.withLock { $0.asked } }

    /// The number of requests for a URL so far.
    func count(of url: String) -> Int { asked.count { $0.url == url } }

    func stop() { state.withLock { $0.isReachable = false } }

    // MARK: Transport

    var windowBytes: Int64? { nil }

    func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        let (document, isReachable) = state.withLock { state in
            state.asked.append(request)
            return (state.documents[request.url], state.isReachable)
        }
        let transfer = LaneTransfer(receiver, lane)
        lane.post {
            guard isReachable else { return transfer.end(.failed(.unreachable("the origin is stopped"))) }
            if let failure = document?.failure { return transfer.end(.failed(failure)) }
            let (head, body) = (document ?? .missing).answer(to: request)
            transfer.send(head, body)
        }
        return transfer
    }

    func close() { lane.shutdown() }
}

extension DocumentOrigin.Document {
    static let missing: Self = {
        var document = Self("not here", type: "text/plain")
        document.status = 404
        document.hasTag = false
        return document
    }()

    /// The strong tag of the body.
    private var tag: String { "\"\(body.reduce(UInt64(5381)) { $0 &* 33 &+ UInt64($1) })\"" }

    fileprivate func answer(to request: OriginRequest) -> (ResponseHead, [UInt8]) {
        var fields = fields
        fields["Content-Type"] = type
        if hasTag { fields["ETag"] = tag }
        guard status == 200 else {
            fields["Content-Length"] = String(body.count)
            return (ResponseHead(status: status, fields: fields), body)
        }
        if hasTag, request.fields["If-None-Match"] == tag { return (ResponseHead(status: 304, fields: fields), []) }
        let isSuffix = request.fields["Range"]?.hasPrefix("bytes=-") == true
        if request.fields["Range"] != nil, suffixAnswer == .noRanges {
            return (ResponseHead(status: 416, fields: ["Content-Length": "0"]), [])
        }
        if isSuffix, case .status(let refused) = suffixAnswer {
            return (ResponseHead(status: refused, fields: ["Content-Length": "7", "Content-Type": "text/plain"]), Array("refused".utf8))
        }
        if !isSuffix || suffixAnswer == .part, let value = request.fields["Range"],
            case .ranges(let ranges)? = RangeHeader(value)?.resolve(length: Int64(body.count))
        {
            let part = Array(body[Int(ranges[0].lowerBound)..<Int(ranges[0].upperBound)])
            fields["Content-Range"] = ContentRange.part(ranges[0], length: .bytes(Int64(body.count))).fieldValue
            if hasLength { fields["Content-Length"] = String(part.count) }
            return (ResponseHead(status: 206, fields: fields), part)
        }
        if hasLength { fields["Content-Length"] = String(body.count) }
        return (ResponseHead(status: 200, fields: fields), body)
    }
}
