import SpoolCore

// The transport of the walk, and the order of events.

extension SessionWalk {
    mutating func head(_ index: Int) {
        let answer = origin.answer(shells[index].ask, using: &random)
        shells[index].answer = answer
        shells[index].next = answer.body.lowerBound
        let generation = GenerationID(rawValue: nextGeneration)
        nextGeneration += 1
        versions[generation] = answer.version
        let id = shells[index].id
        let actions = machine.headReceived(
            id, ResponseHead(status: answer.status, fields: answer.fields), requestTime: wallNow, responseTime: wallNow,
            newGeneration: generation, passReason: nil, now: now)
        take(actions, "fetch \(id.rawValue) head \(answer.status) \(answer.body) v\(answer.version)")
    }

    mutating func body(_ index: Int) {
        guard let answer = shells[index].answer else { return }
        let id = shells[index].id
        let size = min(number(1...16), answer.body.upperBound - shells[index].next)
        if chance(20) {
            // The pool has a free buffer again at once, so the body is offered again at the next
            // turn.
            machine.pausedForBuffer(id)
            return note("fetch \(id.rawValue) waits for a buffer")
        }
        var cursor: Int64 = 0
        while cursor < size {
            let offset = shells[index].next + cursor
            switch machine.intake(id, available: Int(size - cursor), isFirst: cursor == 0) {
            case .keep(let at, let count):
                if at != offset { return fail("fetch \(id.rawValue) puts byte \(offset) at \(at)") }
                keep(index, offset..<offset + Int64(count), answer.version)
                cursor += Int64(count)
            case .drop(let count):
                if isClean { return fail("fetch \(id.rawValue) drops \(count) bytes at \(offset)") }
                cursor += Int64(count)
            case .pause:
                shells[index].isPaused = true
                return note("fetch \(id.rawValue) pauses")
            case .enough:
                takenBytes += cursor
                shells[index].isOver = true
                return take(
                    machine.finished(id, error: .truncated(afterBytes: 0), now: now), "fetch \(id.rawValue) has enough at \(offset)")
            }
        }
        takenBytes += cursor
        shells[index].next += cursor
        take(machine.batchEnded(id, now: now), "fetch \(id.rawValue) got \(size) to \(shells.first { $0.id == id }?.next ?? -1)")
    }

    private mutating func keep(_ index: Int, _ range: Range<Int64>, _ version: Int) {
        let bytes = range.map { WalkOrigin.byte(version, $0) }
        if let last = shells[index].segments.indices.last, !chance(3) {
            let segment = shells[index].segments[last]
            if segment.start + Int64(segment.bytes.count) == range.lowerBound {
                shells[index].segments[last].bytes += bytes
                return
            }
        }
        shells[index].segments.append((range.lowerBound, bytes))
    }

    /// Ends the transfer: cleanly if its whole body was sent, otherwise with an error.
    mutating func finish(_ index: Int, breaks: Bool) {
        let shell = shells[index]
        shells[index].isOver = true
        let isWhole = shell.answer.map { shell.next >= $0.body.upperBound } ?? false
        var error: OriginError?
        if !isWhole || breaks { error = shell.answer == nil ? .unreachable("walk") : .truncated(afterBytes: 0) }
        if breaks, shell.answer == nil, chance(3) { error = .status(404) }
        take(machine.finished(shell.id, error: error, now: now), "fetch \(shell.id.rawValue) ends \(error.map { "\($0)" } ?? "well")")
    }

    // MARK: The order of events

    /// Performs one random event.
    mutating func event() {
        switch number(0...19) {
        case 0, 1: if consumers.count < 4 { join() }
        case 2...6:
            if let index = consumers.indices.filter({ consumers[$0].isAwake && !consumers[$0].isOver }).randomElement(using: &random) {
                act(index)
            }
        case 7: if chance(3), let index = consumers.indices.randomElement(using: &random) { leave(index) }
        case 8: if chance(4), let index = consumers.indices.filter({ !consumers[$0].isOver }).randomElement(using: &random) { seek(index) }
        case 9: pass(.milliseconds(number(1...400)))
        case 10, 11: if let index = shells.indices.filter({ !shells[$0].segments.isEmpty }).randomElement(using: &random) { write(index) }
        case 12: trouble()
        case 13:
            if let fetch = machine.fetches.randomElement(using: &random) {
                take(machine.preempt(fetch.id, now: now), "preempt \(fetch.id.rawValue)")
            }
        case 14: if owesOpen { opened() } else if !owedVerifications.isEmpty { verify() }
        default: transport()
        }
    }

    private mutating func transport() {
        guard let index = shells.indices.filter({ !shells[$0].isOver }).randomElement(using: &random) else { return }
        if faults.breaks, chance(12) { return finish(index, breaks: true) }
        advance(index)
    }

    private mutating func advance(_ index: Int) {
        guard let answer = shells[index].answer else { return head(index) }
        // Some of the bytes have arrived already, or none.
        if shells[index].isStopping, chance(2) { return finish(index, breaks: true) }
        if shells[index].next >= answer.body.upperBound { return finish(index, breaks: false) }
        if !shells[index].isPaused { body(index) }
    }

    private mutating func trouble() {
        if faults.versions, chance(6) {
            origin.version += 1
            if chance(2) { origin.length = number(1...150) }
            note("origin: version \(origin.version), \(origin.length) bytes")
        }
        if faults.losses, chance(5) { lose() }
        if faults.evicts, owedEviction != nil || chance(3) { evict() }
        if faults.storeFails, chance(12) { storeFails() }
    }

    /// Performs all pending events in order, without further faults, until every reader has
    /// finished.
    mutating func settle() {
        for _ in 0..<20_000 {
            if violation != nil || consumers.allSatisfy(\.isOver) { return }
            if owesOpen { opened(); continue }
            if !owedVerifications.isEmpty { verify(); continue }
            if owedEviction != nil { evict(); continue }
            // A consumer that has all its bytes leaves: a reader that stays without reading would
            // hold back the other readers of its relay.
            if let index = consumers.firstIndex(where: \.isOver) { leave(index); continue }
            if let index = consumers.indices.first(where: { consumers[$0].isAwake && !consumers[$0].isOver }) { act(index); continue }
            if let index = shells.indices.first(where: { !shells[$0].isOver && !shells[$0].isStuck }) { advance(index); continue }
            if let due = timer { pass(due - now); continue }
            return fail("\(consumers.filter { !$0.isOver }.map(\.id.rawValue)) wait for ever")
        }
        fail("no end of events: readers \(machine.readers), fetches \(machine.fetches), stored \(machine.version?.stored.ranges ?? [])")
    }
}

extension SessionWalk.Shell {
    /// Whether the transfer is paused with body left: it hands over nothing before it is resumed.
    fileprivate var isStuck: Bool { isPaused && answer.map { next < $0.body.upperBound } ?? false }
}
