import SpoolCore

/// A session whose reader gets the same answer to every request.
struct FuzzedSession {
    var machine: SessionStateMachine
    private let now = MonotonicInstant(nanoseconds: 0)
    private let wallNow = Timestamp(seconds: 1000)

    /// The largest number of answers for a session. It asks again after an answer without bytes.
    private static let mostAnswers = 8
    private static let bodyBytes = 100

    init(requestBytes: Int64?) {
        var limits = SessionLimits()
        limits.requestBytes = requestBytes
        machine = SessionStateMachine(limits: limits)
    }

    mutating func play(_ head: ResponseHead, from start: Int64, to end: Int64?) {
        let (reader, _) = machine.readerJoined(ReaderRequest(start: start, end: end))
        _ = machine.prepare(reader, now: now, wallNow: wallNow)
        var actions = machine.opened(nil, passReason: nil, now: now)
        for number in 0..<Self.mostAnswers {
            actions += machine.step(reader, max: 1 << 20, now: now, wallNow: wallNow).1
            guard let fetch = actions.compactMap({ if case .start(let id, _) = $0 { id } else { nil } }).last else { break }
            actions = machine.headReceived(
                fetch, head, requestTime: wallNow, responseTime: wallNow, newGeneration: GenerationID(rawValue: Int64(number) + 1),
                passReason: nil, now: now)
            takeBody(fetch)
            if case .memory(_, let range) = machine.step(reader, max: 1 << 20, now: now, wallNow: wallNow).0 {
                actions += machine.readerAdvanced(reader, by: range.count, now: now)
            }
            write(fetch)
            _ = machine.evict(1 << 20, sparing: ByteRangeSet(), regions: [])
            actions += machine.finished(fetch, error: nil, now: now)
        }
    }

    private mutating func takeBody(_ fetch: FetchID) {
        var left = Self.bodyBytes
        while left > 0 {
            switch machine.intake(fetch, available: left, isFirst: left == Self.bodyBytes) {
            case .keep(_, let count), .drop(let count): left -= count
            case .pause, .enough: return
            }
        }
        _ = machine.batchEnded(fetch, now: now)
    }

    private mutating func write(_ id: FetchID) {
        guard let fetch = machine.fetches.first(where: { $0.id == id }), !fetch.isRelay, let generation = fetch.generation,
            let range = ByteRange(fetch.released, fetch.front)
        else { return }
        _ = machine.wrote(range, of: generation, by: id, remaining: .max, now: now)
    }
}
