internal import SpoolCore
internal import SpoolOrigin

// Cases of methods and bodies of requests.

extension TransportContract {
    private func request(_ method: String, _ path: String, _ body: RequestBody? = nil) -> OriginRequest {
        var request = OriginRequest(url: base + path, fields: [:])
        request.method = method
        request.body = body
        return request
    }

    func head() -> [String] {
        let probe = probe(request("HEAD", "/whole"))
        let result = violations(probe, end: .complete, bytes: 0, status: 200)
        let length = probe.value.head?.fields["Content-Length"]
        return (length == String(Self.wholeLength) ? result : result + ["Content-Length is \(length ?? "missing")"]) + stillServes()
    }

    func method() -> [String] {
        ["DELETE", "OPTIONS", "PROPFIND"].flatMap { name in
            let probe = probe(request(name, "/method"))
            let result = violations(probe, end: .complete, bytes: 5, status: 200)
            let echo = probe.value.head?.fields["X-Echo"] ?? "nothing"
            return echo.hasPrefix(name) ? result : result + ["\(name) came as \(echo)"]
        }
    }

    /// Returns the violations of a request with a body of these bytes, by the echo of the origin.
    private func violations(_ probe: TransferProbe, sent bytes: [UInt8], by method: String) -> [String] {
        let result = violations(probe, end: .complete, bytes: 5, status: 200)
        let sum = bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
        let echo = probe.value.head?.fields["X-Echo"] ?? "nothing"
        return echo == "\(method) \(bytes.count) \(String(sum, radix: 16))" ? result : result + ["the origin got \(echo)"]
    }

    private static let uploadBytes = OriginContent(seed: 9).bytes(at: 0, count: 900_001)

    func upload() -> [String] {
        ["POST", "PUT", "PATCH"].flatMap { name in
            let probe = probe(request(name, "/upload", RequestBody(Self.uploadBytes)))
            return violations(probe, sent: Self.uploadBytes, by: name)
        }
    }

    func emptyUpload() -> [String] {
        let probe = probe(request("POST", "/upload", RequestBody([])))
        return violations(probe, sent: [], by: "POST")
    }

    /// The writer is first slower than the origin and then faster. Neither may lose a byte.
    func uploadThatWaits() -> [String] {
        let bytes = Self.uploadBytes
        let body = RequestBody(count: Int64(bytes.count))
        let rooms = Awaited(0)
        body.onRoom { rooms.change { $0 += 1 } }
        let probe = probe(request("POST", "/upload", body))
        var sent = 0
        while sent < bytes.count {
            let before = rooms.value
            let piece = min(sent < 200_000 ? 7000 : 300_000, bytes.count - sent)
            let taken = bytes[sent..<sent + piece].withUnsafeBytes { body.write($0) }
            sent += taken
            if taken == piece { continue }
            guard rooms.wait(until: { $0 > before }) else { return ["the transport takes no more"] }
        }
        return violations(probe, sent: bytes, by: "POST")
    }

    func brokenUpload() -> [String] {
        let body = RequestBody(count: 1000)
        let probe = probe(request("POST", "/upload", body))
        _ = [UInt8](repeating: 1, count: 500).withUnsafeBytes { body.write($0) }
        body.breakOff()
        guard let end = probe.waitForEnd() else { return ["the transfer never ended"] }
        guard case .failed = end else { return ["ended with \(end)"] }
        return probe.value.violations + stillServes()
    }

    func cancelInUpload() -> [String] {
        let body = RequestBody(count: 1000)
        let probe = probe(request("POST", "/upload", body))
        _ = [UInt8](repeating: 1, count: 500).withUnsafeBytes { body.write($0) }
        probe.transfer?.cancel()
        return violations(probe, end: .cancelled) + stillServes()
    }
}
