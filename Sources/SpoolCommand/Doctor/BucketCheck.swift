#if os(Linux)
import Spool
import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTiers

/// The checks of the bucket: whether it can be reached, accepts the key, and has the time of this
/// machine.
///
/// It asks for one object that does not exist. Only when the user asks for it, it writes a small
/// object, reads it and deletes it.
struct BucketCheck {
    let address: BucketAddress
    let certificateFile: String?
    /// Whether an object may be written.
    let writes: Bool

    /// The bytes of the object that is written.
    private static let probe = Array("This object is of 'spool doctor --probe-bucket' and can be deleted.\n".utf8)

    func findings() async -> [Finding] {
        var options = CurlTransportOptions()
        options.certificateFile = certificateFile
        let transport = CurlTransport(options: options)
        defer { transport.close() }
        let name = address.publicAddress
        switch await send(.get, on: transport) {
        case .failure(let error):
            return [.problem("bucket", "\(name): \(error)", advice: Self.advice(error))]
        case .success(let (answer, _)):
            let means = writes ? "a small object was asked for" : "it was only read, so give --probe-bucket to try a write"
            let finding = answer.finding(name, means: means)
            let further = writes && finding.level == .ok ? [await write(on: transport)] : []
            return [finding] + [answer.clock].compactMap { $0 } + further
        }
    }

    private static func advice(_ error: OriginError) -> String {
        switch error {
        case .tls: "check the certificate of the bucket, or give --ca-file FILE"
        case .timeout: "check the network; a server asks origins while the bucket is slow"
        default: "check the host and the port of --bucket URL, and the network"
        }
    }

    /// Writes an object, reads it and deletes it.
    private func write(on transport: CurlTransport) async -> Finding {
        func failed(_ verb: String, _ why: String, _ advice: String) -> Finding {
            .problem("bucket write", "an object can't be \(verb): \(why)", advice: advice)
        }
        for verb in [BucketAddress.Probe.put(Self.probe), .get] {
            switch await send(verb, on: transport) {
            case .failure(let error): return failed(verb.participle, "\(error)", Self.advice(error))
            case .success(let (answer, body)):
                guard (200...299).contains(answer.status) else {
                    return failed(verb.participle, "the bucket answers \(answer.status)", answer.advice)
                }
                if case .get = verb, body != Self.probe {
                    return failed("read", "it has other bytes than were written", "look for a proxy between this machine and the bucket")
                }
            }
        }
        if case .success(let (answer, _)) = await send(.delete, on: transport), (200...299).contains(answer.status) {
            return .ok("bucket write", "an object of \(Self.probe.count) bytes was written, read and deleted")
        }
        return .warning(
            "bucket write", "an object of \(Self.probe.count) bytes was written and read, and can't be deleted",
            advice: "Spool itself deletes nothing; the object \(address.probeName) stays until a rule of the bucket deletes it")
    }

    private func send(
        _ probe: BucketAddress.Probe, on transport: CurlTransport
    ) async -> Result<(BucketAnswer, [UInt8]), OriginError> {
        guard let request = address.request(probe) else { return .failure(.unsupportedURL(address.publicAddress)) }
        let result = await withCheckedContinuation { continuation in
            _ = transport.start(request, receiver: AnswerReceiver { continuation.resume(returning: $0) })
        }
        return result.map { (BucketAnswer($0.head, $0.body, now: SystemTime().wallNow), $0.body) }
    }
}

extension BucketAddress.Probe {
    fileprivate var participle: String {
        switch self {
        case .get: "read"
        case .put: "written"
        case .delete: "deleted"
        }
    }
}
#endif
