internal import SpoolCore
internal import SpoolOrigin

// Cases of successful requests: their heads and bodies.

extension TransportContract {
    func wholeBody() -> [String] {
        let probe = probe("/whole")
        var result = violations(probe, end: .complete, bytes: Self.wholeLength, status: 200)
        let seen = probe.value
        if seen.batches == 0 { result.append("batchEnded never came") }
        if seen.head?.fields["content-length"] != String(Self.wholeLength) {
            result.append("the head's fields are not those of the origin")
        }
        if seen.head?.fields["ETag"] == nil { result.append("ETag is missing") }
        if seen.head?.url != nil { result.append("the head names another URL than the one that was asked") }
        return result
    }

    func range(_ value: String, from offset: Int64, count: Int64) -> [String] {
        let probe = probe("/whole", ["Range": value], from: offset)
        var result = violations(probe, end: .complete, bytes: count, status: 206)
        if probe.value.head?.fields["Content-Range"] != "bytes \(offset)-\(offset + count - 1)/\(Self.wholeLength)" {
            result.append("Content-Range is not the origin's")
        }
        return result
    }

    func emptyBody() -> [String] {
        let probe = probe("/empty")
        return violations(probe, end: .complete, bytes: 0, status: 200) + (probe.value.offers == 0 ? [] : ["an empty body was offered"])
    }

    func errorBody() -> [String] {
        let probe = probe(OriginRequest(url: base + "/missing", fields: [:]))
        return violations(probe, end: .complete, bytes: 12, status: 404)
    }

    /// A coded body arrives unchanged, because ranges count its coded bytes (RFC 9110 §14.1.2).
    func codedBody() -> [String] {
        let probe = probe("/coded")
        let result = violations(probe, end: .complete, bytes: 1000, status: 200)
        return probe.value.head?.fields["Content-Encoding"] == "gzip" ? result : result + ["Content-Encoding is missing"]
    }

    func largeHead() -> [String] {
        let probe = probe("/fields")
        let result = violations(probe, end: .complete, bytes: 1000, status: 200)
        let count = probe.value.head?.fields.lines.count {
            $0.name.equalsIgnoringCase("X-Field-199") || $0.name.prefix(7).equalsIgnoringCase("X-Field")
        }
        return count == Self.manyFields.lines.count ? result : result + ["\(count ?? 0) of \(Self.manyFields.lines.count) fields came"]
    }

    func redirect() -> [String] {
        let probe = probe(OriginRequest(url: base + "/moved", fields: [:]))
        let result = violations(probe, end: .complete, bytes: 0, status: 302)
        return probe.value.head?.fields["Location"] == "/whole" ? result : result + ["Location is not the origin's"]
    }

    func sequential() -> [String] {
        for _ in 0..<100 {
            let result = ordinary("/small", length: 1000)
            if !result.isEmpty { return result }
        }
        return []
    }
}
