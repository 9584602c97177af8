internal import SpoolCore
internal import SpoolOrigin

// Cases of transfers that end early, by the receiver, the origin or the network.

extension TransportContract {
    // MARK: By our will

    func enough() -> [String] {
        let probe = longProbe { _, offset in offset >= 200_000 ? .enough : .taken }
        return violations(probe, end: .cancelled, status: longStatus) + stillServes() + probe.value.violations
    }

    func cancelBeforeHead() -> [String] {
        let probe = probe("/silent")
        // Another request that is answered: the silent one was sent by then.
        var result = stillServes()
        probe.transfer?.cancel()
        result += violations(probe, end: .cancelled, bytes: 0)
        if probe.value.head != nil { result.append("a head came") }
        return result
    }

    func cancelAtOnce() -> [String] {
        let probes = (0..<20).map { _ in
            let probe = longProbe()
            probe.transfer?.cancel()
            return probe
        }
        return probes.flatMap { violations($0, end: .cancelled) } + stillServes() + probes.flatMap(\.value.violations)
    }

    func cancelInHead() -> [String] {
        let probe = TransferProbe(whenHeadCame: { $0.transfer?.cancel() })
        probe.start(OriginRequest(url: base + "/huge", fields: longFields), on: transport)
        var result = violations(probe, end: .cancelled, bytes: 0, status: longStatus) + stillServes()
        if probe.value.offers > 0 { result.append("a body came after cancel") }
        return result + probe.value.violations
    }

    func cancelInBody() -> [String] {
        let probe = longProbe { probe, offset in
            if offset >= 200_000 { probe.transfer?.cancel() }
            return .taken
        }
        var result = violations(probe, end: .cancelled, status: longStatus) + stillServes() + probe.value.violations
        if probe.value.bytes > 200_000 + 2 * 65_536 { result.append("the body went on after cancel") }
        return result
    }

    func cancelWhilePaused() -> [String] {
        let probe = longProbe { _, offset in offset >= 200_000 ? .pause : .taken }
        guard probe.wait(until: { $0.pauses == 1 || $0.end != nil }) else { return ["the pause never came"] }
        let offers = probe.value.offers
        probe.transfer?.cancel()
        probe.transfer?.resume()
        var result = violations(probe, end: .cancelled) + stillServes() + probe.value.violations
        if probe.value.offers != offers { result.append("a body came after cancel") }
        return result
    }

    func cancelFromOtherThread() -> [String] {
        // A window could be over before it is cancelled, so its receiver pauses on the way.
        let stops = transport.windowBytes != nil
        let probe = longProbe { _, offset in stops && offset >= 600_000 ? .pause : .taken }
        guard probe.wait(until: { $0.bytes > 500_000 || $0.end != nil }) else { return ["the body never came"] }
        probe.transfer?.cancel()
        return violations(probe, end: .cancelled, status: longStatus) + stillServes() + probe.value.violations
    }

    /// Ends the transport and checks that `close` ends running transfers and cancels later ones.
    /// Runs last, because it closes the transport.
    public func violationsOfClose() -> [ContractViolation] {
        let silent = (0..<4).map { _ in probe("/silent") }
        let paused = (0..<4).map { _ in longProbe { _, offset in offset >= 100_000 ? .pause : .taken } }
        for probe in paused { _ = probe.wait { $0.pauses == 1 || $0.end != nil } }
        let running = transport.windowBytes == nil ? (0..<4).map { _ in longProbe() } : []
        transport.close()
        let late = probe("/small")
        transport.close()
        return (silent + paused + running + [late]).flatMap { violations($0, end: .cancelled) }
            .map { ContractViolation("close", $0) }
    }

    // MARK: By the origin's or the network's

    func refused() -> [String] {
        failure(of: OriginRequest(url: unreachable, fields: [:]), mayHaveHead: false) { if case .unreachable = $0 { true } else { false } }
    }

    /// A body that breaks off after all earlier bytes were delivered.
    func truncated(_ path: String, exactly bytes: Int64?) -> [String] {
        let probe = probe(path)
        guard let end = probe.waitForEnd() else { return ["the transfer never ended"] }
        let seen = probe.value
        var result = seen.violations
        if end != .failed(.truncated(afterBytes: seen.bytes)) { result.append("ended with \(end) after \(seen.bytes) bytes") }
        if let bytes, seen.bytes != bytes { result.append("\(seen.bytes) bytes came, not \(bytes)") }
        if seen.head?.status != 200, bytes != nil { result.append("no head came") }
        return result
    }

    func failure(at path: String, where isRight: (OriginError) -> Bool) -> [String] {
        failure(of: OriginRequest(url: base + path, fields: [:]), where: isRight)
    }

    private func failure(of request: OriginRequest, mayHaveHead: Bool = true, where isRight: (OriginError) -> Bool) -> [String] {
        let probe = probe(request)
        guard let end = probe.waitForEnd() else { return ["the transfer never ended"] }
        guard case .failed(let error) = end, isRight(error) else { return ["\(request.url) ended with \(end)"] }
        return probe.value.violations + (mayHaveHead || probe.value.head == nil ? [] : ["a head came"])
    }

    // MARK: By the request itself

    func injection() -> [String] {
        let requests = [
            OriginRequest(url: base + "/small", fields: ["X-A": "1\r\nX-B: 2"]),
            OriginRequest(url: base + "/small", fields: ["X-A": "1\nX-B: 2"]),
            OriginRequest(url: base + "/small", fields: ["X-A": "1\0"]),
            OriginRequest(url: base + "/small", fields: ["X-A: 1\r\nX-B": "2"]),
            OriginRequest(url: base + "/small", fields: ["": "2"]), OriginRequest(url: base + "/small\r\nX-B: 2", fields: [:]),
            OriginRequest(url: base + "/sm\0all", fields: [:]),
        ]
        return requests.flatMap { request in
            failure(of: request, mayHaveHead: false) { if case .malformed = $0 { true } else { false } }
        }
    }

    func unsupportedScheme() -> [String] {
        ["file:///etc/hostname", "ftp://127.0.0.1/", "http:/small", ""].flatMap { url in
            failure(of: OriginRequest(url: url, fields: [:])) { if case .unsupportedURL = $0 { true } else { false } }
        }
    }
}
