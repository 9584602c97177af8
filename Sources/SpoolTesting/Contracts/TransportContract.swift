internal import SpoolCore
public import SpoolOrigin

/// The rules for every `Transport`, as cases that return the violations.
///
/// The origin behind the transport serves `resources(base:)` and follows `script`. A case blocks
/// the calling thread until something happens; no case sleeps.
///
/// ```swift
/// let origin = try RawOrigin(TransportContract.resources(base: ""), script: TransportContract.script)
/// defer { origin.stop() }
/// let unreachable = "http://127.0.0.1:\(try RawOrigin.unusedPort())/"
/// let contract = TransportContract(transport, base: origin.url(""), unreachable: unreachable)
/// let violations = contract.violations() + contract.violationsOfClose()   // empty when it holds
/// ```
public struct TransportContract: Sendable {
    /// One rule, or a few that are checked together. A later version may add cases.
    #if compiler(>=6.3)
    @nonexhaustive
    #endif
    public enum Case: String, CaseIterable, Sendable {
        case wholeBody, range, openRange, emptyBody, errorBody, informational
        case chunkedBody, closeDelimitedBody, codedBody, largeHead, redirect, sequential
        case pause, pauseAtEveryOffer, pauseAtTheEnd, resumeDuringPause, uselessCalls, pausedReceivers
        case enough, cancelBeforeHead, cancelInHead, cancelInBody, cancelWhilePaused, cancelFromOtherThread, cancelAtOnce
        case refused, truncated, truncatedChunks, reset, endInsideHead, noHTTP, contradictingLengths
        case injection, unsupportedScheme
        case head, method, upload, emptyUpload, uploadThatWaits, brokenUpload, cancelInUpload
    }

    let transport: any Transport
    let base: String
    let unreachable: String

    /// Creates the contract.
    ///
    /// - Parameters:
    ///   - transport: The transport to check.
    ///   - base: The URL before the paths of `resources(base:)`, without a slash at its end.
    ///   - unreachable: A URL at which no server answers.
    public init(_ transport: any Transport, base: String, unreachable: String) {
        self.transport = transport
        self.base = base
        self.unreachable = unreachable
    }

    // MARK: The origin's side

    static let wholeLength: Int64 = 1_000_003
    static let hugeLength: Int64 = 20 << 30
    static let cutBytes: Int64 = 70_001

    private static let lengths: [(path: String, length: Int64)] = [
        ("/whole", wholeLength), ("/small", 1000), ("/empty", 0), ("/huge", hugeLength), ("/early", 5000), ("/chunked", wholeLength),
        ("/close", wholeLength), ("/coded", 1000), ("/fields", 1000), ("/cut", wholeLength), ("/cut-chunks", wholeLength),
        ("/reset", wholeLength), ("/silent", 1000), ("/stalled", wholeLength),
    ]

    /// Returns the resources that the origin serves.
    public static func resources(base: String) -> [VirtualResource] {
        lengths.map { VirtualResource(url: base + $0.path, seed: seed(of: $0.path), length: $0.length) }
    }

    static func seed(of path: String) -> UInt64 {
        path.utf8.reduce(7) { $0 &* 31 &+ UInt64($1) }
    }

    static let manyFields = HTTPFields((0..<200).map { .init(name: "X-Field-\($0)", value: String(repeating: "v", count: 300)) })

    /// The behaviour of the origin.
    public static let script: OriginScript = { request, _ in
        let path = "/" + (request.url.split(separator: "/").last ?? "")
        return switch path {
        case "/early": .informational(103, count: 2, .correct)
        case "/chunked": .unknownLength(.chunked, .correct)
        case "/close": .unknownLength(.close, .correct)
        case "/coded": .fields(["Content-Encoding": "gzip"], .correct)
        case "/fields": .fields(manyFields, .correct)
        case "/cut": .cut(afterBytes: cutBytes, .close, .correct)
        case "/cut-chunks": .cut(afterBytes: cutBytes, .close, .unknownLength(.chunked, .correct))
        case "/reset": .cut(afterBytes: cutBytes, .reset, .correct)
        case "/silent": .silence
        case "/stalled": .stall(afterBytes: cutBytes, .correct)
        case "/moved": .redirect(302, to: "/whole")
        case "/missing": .status(404, body: Array("nothing here".utf8))
        case "/half-head": .raw(Array("HTTP/1.1 200 OK\r\nContent-Le".utf8))
        case "/noise": .raw(Array("220 mail.example ready\r\n\r\n".utf8))
        case "/contradiction": .fields(["Content-Length": "5", "content-length": "6"], .status(200, body: Array("hello!".utf8)))
        default: .correct
        }
    }

    // MARK: Running

    /// Runs one case and returns its violations.
    public func violations(of rule: Case) -> [ContractViolation] {
        let violations =
            switch rule {
            case .wholeBody: wholeBody()
            case .range: range("bytes=70000-70999", from: 70_000, count: 1000)
            case .openRange: range("bytes=900000-", from: 900_000, count: Self.wholeLength - 900_000)
            case .emptyBody: emptyBody()
            case .errorBody: errorBody()
            case .informational: ordinary("/early", length: 5000)
            case .chunkedBody: ordinary("/chunked", length: Self.wholeLength)
            case .closeDelimitedBody: ordinary("/close", length: Self.wholeLength)
            case .codedBody: codedBody()
            case .largeHead: largeHead()
            case .redirect: redirect()
            case .sequential: sequential()
            case .pause: pause()
            case .pauseAtEveryOffer: pauseAtEveryOffer()
            case .pauseAtTheEnd: pauseAtTheEnd()
            case .resumeDuringPause: resumeDuringPause()
            case .uselessCalls: uselessCalls()
            case .pausedReceivers: pausedReceivers()
            case .enough: enough()
            case .cancelBeforeHead: cancelBeforeHead()
            case .cancelInHead: cancelInHead()
            case .cancelInBody: cancelInBody()
            case .cancelWhilePaused: cancelWhilePaused()
            case .cancelFromOtherThread: cancelFromOtherThread()
            case .cancelAtOnce: cancelAtOnce()
            case .refused: refused()
            case .truncated: truncated("/cut", exactly: Self.cutBytes)
            case .truncatedChunks: truncated("/cut-chunks", exactly: Self.cutBytes)
            case .reset: truncated("/reset", exactly: nil)
            case .endInsideHead: failure(at: "/half-head") { if case .truncated = $0 { true } else { false } }
            case .noHTTP: failure(at: "/noise") { if case .malformed = $0 { true } else { false } }
            case .contradictingLengths: failure(at: "/contradiction") { if case .malformed = $0 { true } else { false } }
            case .injection: injection()
            case .unsupportedScheme: unsupportedScheme()
            case .head: head()
            case .method: method()
            case .upload: upload()
            case .emptyUpload: emptyUpload()
            case .uploadThatWaits: uploadThatWaits()
            case .brokenUpload: brokenUpload()
            case .cancelInUpload: cancelInUpload()
            }
        return violations.map { ContractViolation(rule.rawValue, $0) }
    }

    /// Runs all cases in turn and returns their violations.
    public func violations(skipping skipped: Set<Case> = []) -> [ContractViolation] {
        Case.allCases.filter { !skipped.contains($0) }.flatMap(violations(of:))
    }

    // MARK: Parts of cases

    /// Starts a request for `path` with a receiver that expects its content.
    func probe(
        _ path: String, _ fields: HTTPFields = [:], from offset: Int64 = 0, reaction: @escaping TransferProbe.Reaction = { _, _ in .taken }
    ) -> TransferProbe {
        let probe = TransferProbe(OriginContent(seed: Self.seed(of: path)), from: offset, reaction: reaction)
        probe.start(OriginRequest(url: base + path, fields: fields), on: transport)
        return probe
    }

    func probe(_ request: OriginRequest) -> TransferProbe {
        let probe = TransferProbe()
        probe.start(request, on: transport)
        return probe
    }

    /// Returns the violations of a transfer that should have ended in this way, after this many
    /// bytes.
    func violations(_ probe: TransferProbe, end: TransferEnd, bytes: Int64? = nil, status: Int? = nil) -> [String] {
        guard let actual = probe.waitForEnd() else { return ["the transfer never ended"] }
        let seen = probe.value
        var result = seen.violations
        if actual != end { result.append("ended with \(actual), not \(end)") }
        if let bytes, seen.bytes != bytes { result.append("\(seen.bytes) bytes came, not \(bytes)") }
        if let status, seen.head?.status != status {
            result.append("the head was \(seen.head.map { "\($0.status)" } ?? "missing"), not \(status)")
        }
        return result
    }

    /// Starts a request for more than any receiver here takes: 20 GiB, or one window if the
    /// transport has one, because it may keep the rest in memory.
    func longProbe(reaction: @escaping TransferProbe.Reaction = { _, _ in .taken }) -> TransferProbe {
        probe("/huge", longFields, reaction: reaction)
    }

    var longFields: HTTPFields {
        transport.windowBytes.map { ["Range": "bytes=0-\($0 - 1)"] } ?? [:]
    }

    var longStatus: Int { transport.windowBytes == nil ? 200 : 206 }

    /// Runs a request that succeeds, and returns its violations.
    func ordinary(_ path: String, length: Int64) -> [String] {
        violations(probe(path), end: .complete, bytes: length, status: 200)
    }

    /// Checks that the transport still serves. This also gives a forbidden late call the time to
    /// come.
    func stillServes() -> [String] {
        ordinary("/small", length: 1000).map { "afterwards: \($0)" }
    }
}
