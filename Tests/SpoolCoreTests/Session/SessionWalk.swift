import SpoolCore

/// A small world around one state machine: readers, an origin, a disk and a clock that act in
/// random order.
///
/// The walk takes the place of the shell: it stores the bytes, and compares each byte that a reader
/// gets.
struct SessionWalk {
    /// The faults that may occur.
    struct Faults {
        var breaks = false
        var versions = false
        var losses = false
        var storeFails = false
        var damage = false
        /// Whether room is needed again and again.
        var evicts = false
        /// Whether the limits of stored runs are so low that the session reaches them all the time.
        var crowds = false
        /// Whether some readers forbid storing.
        var storesNothing = false
        var isClean: Bool { !breaks && !versions && !losses && !storeFails && !damage && !storesNothing && !crowds && !evicts }
    }

    struct Consumer {
        let id: ReaderID
        var position: Int64
        var end: Int64?
        var version: Int?
        var isAwake = true
        var isOver = false
        var onlyStored = false
        /// The number of last bytes that it reads, until it has asked for the version.
        var suffix: Int64?
        /// The version that the origin had when a reader joined that accepts no older one.
        var oldest = 0
        /// The highest offset that the consumer requested. A reader that failed there stays failed.
        var highest: Int64 = 0
    }

    struct Shell {
        let id: FetchID
        let ask: OriginAsk
        var answer: WalkOrigin.Answer?
        /// The next byte that the transport hands over.
        var next: Int64 = 0
        var isPaused = false
        /// Whether the transfer ends once what has arrived is handed over.
        var isStopping = false
        var isOver = false
        var segments: [(start: Int64, bytes: [UInt8])] = []
    }

    var random: SeededGenerator
    var machine: SessionStateMachine
    var now = MonotonicInstant(nanoseconds: 0)
    var wallNow: Timestamp { Timestamp(nanoseconds: .seconds(1000) + now.nanoseconds) }
    var timer: MonotonicInstant?
    var origin: WalkOrigin
    var faults = Faults()
    var consumers: [Consumer] = []
    var shells: [Shell] = []
    var owesOpen = false
    var owedVerifications: [(range: ByteRange, generation: GenerationID)] = []
    /// Blocks under eviction, which are still on the disk.
    var owedEviction: (blocks: ByteRangeSet, generation: GenerationID)?
    var disk: [GenerationID: [Int64: UInt8]] = [:]
    var versions: [GenerationID: Int] = [:]
    var lost: [GenerationID: Set<Int64>] = [:]
    var nextGeneration: Int64 = 1
    var requests = 0
    /// The number of body bytes taken from the transport.
    var takenBytes: Int64 = 0
    var trail: [String] = []
    var violation: String?
    var isEnded = false
    /// Whether readers ask for the version before they ask for bytes.
    var prepares = false
    /// Records the transitions of the machine, if it is set.
    var transitions: SessionTransitions?

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        var limits = SessionLimits()
        limits.readAheadBytes = 40
        limits.joinBytes = 8...16
        limits.relayBytes = 16
        limits.skipBytes = 20
        limits.keptBehindBytes = 5
        limits.blockBytes = 16
        origin = WalkOrigin(length: 1)
        machine = SessionStateMachine(limits: limits)
        limits.firstWindowBytes = 8
        limits.provenBytes = 12
        limits.playBytes = 16
        limits.longestWait = chance(2) ? 0 : .seconds(3600)
        limits.lostBytes = 4...12
        if chance(4) { limits.requestBytes = 24 }
        if chance(3) {
            faults.crowds = true
            limits.blockBytes = 8
            limits.runsPerBlock = 2
            limits.storedRuns = 5
        }
        machine = SessionStateMachine(limits: limits)
        origin.length = number(0...150)
        guard !chance(3) else { return }
        origin.tag = WalkOrigin.Tag.allCases[Int(number(0...3))]
        origin.hasRanges = !chance(4)
        origin.tellsLength = !chance(3)
        origin.noStore = chance(6)
        origin.isSloppy = chance(3)
        origin.suffixAnswer = WalkOrigin.SuffixAnswer.allCases[Int(number(0...2))]
        faults.breaks = chance(2)
        faults.versions = chance(3)
        faults.losses = chance(4)
        faults.storeFails = chance(4)
        faults.damage = chance(3)
        faults.storesNothing = chance(4)
        faults.evicts = chance(3)
        origin.cacheControl =
            [nil, "max-age=0", "no-cache", "max-age=2, must-revalidate", "max-age=1, stale-while-revalidate=3"][
                Int(number(0...4))]
    }

    /// Whether no fault can occur and the origin follows every rule. Then each byte is fetched
    /// once, and no reader fails.
    var isClean: Bool {
        faults.isClean && origin.tag == .strong && origin.hasRanges && origin.tellsLength && !origin.noStore && !origin.isSloppy
            && origin.suffixAnswer == .part
    }

    mutating func chance(_ of: Int64) -> Bool { number(0...of - 1) == 0 }
    mutating func number(_ range: ClosedRange<Int64>) -> Int64 { Int64.random(in: range, using: &random) }

    mutating func fail(_ words: String) {
        if violation == nil { violation = words }
    }

    mutating func note(_ words: String) {
        trail.append(words)
        if trail.count > 60 { trail.removeFirst() }
    }

    // MARK: Acting

    mutating func take(_ actions: [SessionAction], _ event: String) {
        note("\(event) → \(actions)")
        transitions?.record(machine)
        for action in actions {
            switch action {
            case .open: owesOpen = true
            case .start(let id, let ask):
                requests += 1
                shells.append(Shell(id: id, ask: ask))
            case .resume(let id): change(id) { $0.isPaused = false }
            case .cancel(let id): change(id) { $0.isOver = true }
            case .stop(let id): change(id) { ($0.isStopping, $0.isPaused) = (true, false) }
            case .wake(let id): if let index = consumers.firstIndex(where: { $0.id == id }) { consumers[index].isAwake = true }
            case .discard(let ranges, let generation):
                // A later fetch writes these bytes again.
                for range in ranges.ranges { for offset in range.lowerBound..<range.upperBound { disk[generation]?[offset] = nil } }
            case .verify(let range, let generation): owedVerifications.append((range, generation))
            case .setTimer(let at): timer = min(timer ?? at, at)
            case .release(let id, let below): change(id) { $0.segments.removeAll { $0.start + Int64($0.bytes.count) <= below } }
            case .prioritize, .versionChanged, .representationUpdated, .passing, .ended, .usedUnvalidated, .gone, .unfinished, .forgotten,
                .pastOver:
                break
            }
        }
        for index in shells.indices where !machine.fetches.contains(where: { $0.id == shells[index].id }) { shells[index].segments = [] }
        shells.removeAll { $0.isOver && $0.segments.isEmpty }
        if let broken = machine.violations.first { fail("after \(event): \(broken)") }
        if requests > 2000 { fail("requests without end") }
    }

    private mutating func change(_ id: FetchID, _ body: (inout Shell) -> Void) {
        if let index = shells.firstIndex(where: { $0.id == id }) { body(&shells[index]) }
    }

    // MARK: Readers

    /// Joins a reader by the hit path. The reader takes some of its first bytes and then leaves, or
    /// stays like any other. Returns false if the hit path does not apply now.
    mutating func hit() -> Bool {
        let policy: CachePolicy = chance(2) ? .standard : .preferStored
        let first = number(0...max(1, origin.length)), last = first + number(0...60)
        let spec: RangeHeader.Spec? = chance(5) ? nil : chance(4) ? .from(first: first) : .bounded(first: first, last: last)
        let fetchPolicies: [FetchPolicy] = [.whilePlaying, .whilePlaying, .readAhead(bytes: number(1...60)), .wholeResource]
        let fetchPolicy = fetchPolicies[Int(number(0...3))], max = number(1...30)
        var long = machine
        let found = machine.hit(spec, policy: policy, isShared: false, fetchPolicy: fetchPolicy, max: max, mayFetch: true, wallNow: wallNow)
        guard let found else { return false }
        let longReader = joinTheLongWay(&long, found, policy, fetchPolicy, max: max)
        let version = versions[found.generation], isStrict = ["no-cache", "max-age=0"].contains(origin.cacheControl)
        if policy == .standard, isStrict, !origin.noStore { fail("a hit of version \(version ?? 0), which was to be asked for") }
        for offset in found.stored.lowerBound..<found.stored.upperBound
        where version == nil || disk[found.generation]?[offset] != version.map({ WalkOrigin.byte($0, offset) }) {
            fail("wrong byte at \(offset) in a hit")
        }
        let count = chance(2) ? found.stored.count : number(0...found.stored.count)
        if chance(2) {
            let actions = machine.hitLeft(found.reader, after: count, now: now)
            let last = long.readerAdvanced(longReader, by: count, now: now)
            let longActions = last + long.readerLeft(longReader, explicitly: false, now: now)
            take(actions, "reader \(found.reader.rawValue) was a hit of \(count) bytes")
            compare(long, longActions, actions)
            return true
        }
        var consumer = Consumer(id: found.reader, position: found.range.lowerBound + count, end: found.range.upperBound)
        consumer.version = version
        consumers.append(consumer)
        let event = "reader \(found.reader.rawValue) stays after a hit of \(count) bytes"
        take(machine.readerAdvanced(found.reader, by: count, now: now), event)
        return true
    }

    /// Performs the events of a hit one by one on a copy of the machine. A hit must not leave out
    /// any work that these events start.
    private mutating func joinTheLongWay(
        _ long: inout SessionStateMachine, _ hit: SessionHit, _ policy: CachePolicy, _ fetchPolicy: FetchPolicy, max: Int64
    ) -> ReaderID {
        let request = ReaderRequest(
            start: hit.range.lowerBound, end: hit.range.upperBound, policy: fetchPolicy, rules: UseRules(policy: policy))
        var (id, actions) = long.readerJoined(request)
        let (preparation, more) = long.prepare(id, now: now, wallNow: wallNow)
        actions += more
        if preparation != long.version.map({ .ready($0.generation, $0.representation) }) { fail("a hit that is \(preparation) else") }
        actions += long.readerMoved(id, to: hit.range.lowerBound, end: hit.range.upperBound, now: now)
        long.readerTold(id)
        let (step, last) = long.step(id, max: max, now: now, wallNow: wallNow)
        actions += last
        if step != .stored(hit.stored) { fail("a hit of \(hit.stored) that is \(step) else") }
        compare(long, actions, [])
        return id
    }

    /// Compares the results of both paths. Verification ahead of a reader and timers are exempt:
    /// only one path verifies ahead, and a timer may be set again.
    private mutating func compare(_ long: SessionStateMachine, _ longActions: [SessionAction], _ actions: [SessionAction]) {
        func effects(_ actions: [SessionAction]) -> [SessionAction] {
            actions.filter {
                switch $0 {
                case .verify, .setTimer: false
                default: true
                }
            }
        }
        if effects(longActions) != effects(actions) { fail("a hit does \(actions), else \(longActions)") }
        if long.fetches != machine.fetches || long.goal != machine.goal || long.version?.stored != machine.version?.stored {
            fail("a hit leaves fetches \(machine.fetches), goal \(machine.goal as Any), else \(long.fetches), \(long.goal as Any)")
        }
    }

    mutating func join() {
        if chance(3), hit() { return }
        let start = number(0...max(1, origin.length + 5)), end = chance(3) ? nil : start + number(1...60)
        let policies: [FetchPolicy] = [.whilePlaying, .whilePlaying, .readAhead(bytes: number(1...60)), .wholeResource]
        let policy = policies[Int(number(0...3))]
        let onlyStored = chance(12)
        var rules = UseRules(policy: chance(2) ? .standard : .preferStored, mode: onlyStored ? .onlyStored : .automatic)
        if !onlyStored, chance(5) { rules.mode = .reload }
        if !onlyStored, faults.storesNothing, chance(2) { rules.mode = .doNotStore }
        let suffix = chance(6) ? number(1...60) : nil
        let from = suffix != nil || chance(3) ? 0 : start
        var request = ReaderRequest(
            start: from, end: suffix == nil ? end : nil, wantsBytes: !chance(4), policy: policy, rules: rules)
        request.suffix = suffix
        let (id, actions) = machine.readerJoined(request)
        var consumer = Consumer(id: id, position: from, end: suffix == nil ? end : nil, onlyStored: onlyStored)
        consumer.suffix = suffix
        let isStrict = rules.policy == .standard && ["no-cache", "max-age=0"].contains(origin.cacheControl) && !faults.breaks
        let isTold = origin.tag == .strong || origin.tag == .weak
        if isTold, rules.mode == .reload || (isStrict && !onlyStored && !origin.noStore) { consumer.oldest = origin.version }
        consumers.append(consumer)
        let range = suffix.map { "the last \($0)" } ?? "\(from) to \(end.map(String.init) ?? "end")"
        take(actions, "reader \(id.rawValue) joins at \(range) \(policy) \(rules.policy) \(rules.mode)")
    }

    mutating func act(_ index: Int) {
        let reader = consumers[index]
        consumers[index].isAwake = false
        if let suffix = reader.suffix { return findLastBytes(index, suffix) }
        consumers[index].highest = max(reader.highest, reader.position)
        if prepares { prepare(reader.id) }
        let (step, actions) = machine.step(reader.id, max: number(1...30), now: now, wallNow: wallNow)
        take(actions, "reader \(reader.id.rawValue) at \(reader.position): \(step)")
        switch step {
        case .stored(let range):
            let bytes = machine.toldVersion(of: reader.id).flatMap { disk[$0] }
            use(index, range) { bytes?[$0] }
        case .memory(let fetch, let range):
            let shell = shells.first { $0.id == fetch }
            use(index, range) { offset in
                shell?.segments.first { offset >= $0.start && offset < $0.start + Int64($0.bytes.count) }.map {
                    $0.bytes[Int(offset - $0.start)]
                }
            }
        case .wait: break
        case .end: end(index)
        case .failed(let failure): failed(index, failure)
        }
    }

    private mutating func failed(_ index: Int, _ failure: ReadFailure) {
        let reader = consumers[index]
        consumers[index].isOver = true
        if !isEnded, !reader.onlyStored, !mayFail(reader, failure) { fail("reader \(reader.id.rawValue) failed with \(failure)") }
    }

    /// Asks for the version, and moves to its last bytes, as a door does. Without a length the door
    /// answers with the whole.
    private mutating func findLastBytes(_ index: Int, _ suffix: Int64) {
        let id = consumers[index].id
        let (preparation, actions) = machine.prepare(id, withFirstByte: chance(2), now: now, wallNow: wallNow)
        take(actions, "reader \(id.rawValue) of the last \(suffix) prepares: \(preparation)")
        switch preparation {
        case .wait: break
        case .failed(let failure): failed(index, failure)
        case .ready(_, let representation):
            let start = representation.length.map { max(0, $0 - suffix) } ?? 0
            consumers[index].suffix = nil
            consumers[index].position = start
            consumers[index].end = representation.length
            consumers[index].isAwake = true
            take(
                machine.readerMoved(id, to: start, end: representation.length, now: now),
                "reader \(id.rawValue) of the last \(suffix) goes to \(start)")
        }
    }

    /// Asks for the version. Some consumers commit to it at once.
    private mutating func prepare(_ id: ReaderID) {
        let (preparation, actions) = machine.prepare(id, now: now, wallNow: wallNow)
        take(actions, "reader \(id.rawValue) prepares: \(preparation)")
        if chance(2) { machine.readerTold(id) }
    }

    private func mayFail(_ reader: Consumer, _ failure: ReadFailure) -> Bool {
        if case .origin(.rangeNotSatisfiable) = failure {
            return consumers.contains { $0.id == reader.id && $0.highest >= origin.length } || faults.versions
        }
        return !isClean
    }

    private mutating func use(_ index: Int, _ range: ByteRange, _ byte: (Int64) -> UInt8?) {
        let reader = consumers[index]
        guard range.lowerBound == reader.position else { return fail("reader at \(reader.position) got \(range)") }
        let count = number(1...range.count)
        guard let generation = machine.toldVersion(of: reader.id), let version = versions[generation] else {
            return fail("bytes of no version")
        }
        if version < reader.oldest { return fail("reader \(reader.id.rawValue) got version \(version), it wants \(reader.oldest)") }
        if let own = reader.version, own != version { return fail("reader \(reader.id.rawValue) got version \(version) after \(own)") }
        for offset in range.lowerBound..<range.lowerBound + count where byte(offset) != WalkOrigin.byte(version, offset) {
            return fail("wrong byte at \(offset) for reader \(reader.id.rawValue)")
        }
        consumers[index].version = version
        consumers[index].position += count
        consumers[index].isAwake = true
        take(machine.readerAdvanced(reader.id, by: count, now: now), "reader \(reader.id.rawValue) takes \(count)")
    }

    private mutating func end(_ index: Int) {
        let reader = consumers[index]
        consumers[index].isOver = true
        if !faults.versions, reader.position < min(reader.end ?? .max, origin.length) {
            fail("reader \(reader.id.rawValue) ended at \(reader.position) of \(origin.length)")
        }
    }

    mutating func seek(_ index: Int) {
        let start = number(0...max(1, origin.length)), end = chance(2) ? nil : start + number(1...60)
        consumers[index].suffix = nil
        consumers[index].position = start
        consumers[index].end = end
        consumers[index].isAwake = true
        // Without a strong validator, each seek of a reader is answered by one response, which need
        // not match the last.
        if origin.tag != .strong { consumers[index].version = nil }
        take(
            machine.readerMoved(consumers[index].id, to: start, end: end, now: now),
            "reader \(consumers[index].id.rawValue) goes to \(start)")
    }

    mutating func leave(_ index: Int) {
        let reader = consumers.remove(at: index)
        let explicitly = chance(2)
        take(machine.readerLeft(reader.id, explicitly: explicitly, now: now), "reader \(reader.id.rawValue) leaves \(explicitly)")
    }

    // MARK: Store and time

    mutating func opened() {
        owesOpen = false
        guard !origin.noStore, origin.length > 0, chance(2) else {
            return take(machine.opened(nil, passReason: nil, now: now), "opened")
        }
        let generation = GenerationID(rawValue: nextGeneration)
        nextGeneration += 1
        versions[generation] = origin.version
        var spans = ByteRangeSet()
        if origin.tag == .strong {
            for _ in 0...number(0...3) {
                let lower = number(0...origin.length - 1)
                spans.insert(ByteRange(lower: lower, upper: number(lower + 1...origin.length)))
            }
        } else {
            // The version has bytes of one response only, from 0 on.
            spans.insert(ByteRange(lower: 0, upper: chance(2) ? origin.length : number(1...origin.length)))
        }
        for range in spans.ranges { for offset in range.lowerBound..<range.upperBound { keepOld(offset, of: generation) } }
        var fields = HTTPFields()
        fields["ETag"] = origin.tagValue
        let representation = Representation(
            length: origin.tellsLength ? origin.length : nil, validator: Validator(fields: fields), fields: fields,
            requestTime: Timestamp(seconds: 0), responseTime: Timestamp(seconds: 0))
        take(
            machine.opened((generation, representation, spans), unverified: spans, passReason: nil, now: now),
            "opened with \(spans) of v\(origin.version)")
    }

    /// A byte that an earlier opening stored. The disk may have damaged it.
    private mutating func keepOld(_ offset: Int64, of generation: GenerationID) {
        let byte = WalkOrigin.byte(origin.version, offset)
        disk[generation, default: [:]][offset] = faults.damage && chance(20) ? ~byte : byte
    }

    /// Verifies the requested ranges and removes damaged bytes from the disk, as the shell does
    /// before it reports to the machine.
    mutating func verify() {
        let (range, generation) = owedVerifications.removeFirst()
        let damaged = ByteRangeSet(
            (range.lowerBound..<range.upperBound).filter { offset in
                disk[generation]?[offset].map { $0 != WalkOrigin.byte(versions[generation] ?? 0, offset) } ?? true
            }.map { ByteRange(lower: $0, upper: $0 + 1) })
        let lost = machine.damagedBytes(damaged, of: generation)
        for range in lost.ranges { for offset in range.lowerBound..<range.upperBound { disk[generation]?[offset] = nil } }
        take(machine.verified(ByteRangeSet([range]), of: generation, damaged: lost, now: now), "verified \(range), damaged \(damaged)")
    }

    /// Writes the oldest segment of a fetch.
    mutating func write(_ index: Int) {
        let shell = shells[index]
        guard let fetch = machine.fetches.first(where: { $0.id == shell.id }), !fetch.isRelay, let generation = fetch.generation,
            let segment = shell.segments.first, let range = ByteRange(segment.start, segment.start + Int64(segment.bytes.count))
        else { return }
        for (index, byte) in segment.bytes.enumerated() {
            let offset = segment.start + Int64(index)
            if disk[generation]?[offset] != nil { return fail("byte \(offset) is written twice") }
            disk[generation, default: [:]][offset] = byte
        }
        shells[index].segments.removeFirst()
        let remaining = shells[index].segments.first?.start ?? .max
        take(
            machine.wrote(range, of: generation, by: shell.id, remaining: remaining, now: now), "fetch \(shell.id.rawValue) wrote \(range)")
    }

    mutating func lose() {
        guard let version = machine.version, let run = version.stored.ranges.randomElement(using: &random) else { return }
        let lower = number(run.lowerBound...run.upperBound - 1), upper = number(lower + 1...run.upperBound)
        for offset in lower..<upper {
            disk[version.generation]?[offset] = nil
            lost[version.generation, default: []].insert(offset)
        }
        take(machine.lost(ByteRange(lower: lower, upper: upper), of: version.generation, now: now), "lost \(lower)..<\(upper)")
    }

    /// Makes room: evicts blocks of the resource and removes them later. Sometimes the removal
    /// fails.
    mutating func evict() {
        if let owed = owedEviction {
            owedEviction = nil
            let isGone = !chance(4)
            if isGone {
                for range in owed.blocks.ranges {
                    for offset in range.lowerBound..<range.upperBound { disk[owed.generation]?[offset] = nil }
                }
            }
            return take(machine.evicted(owed.blocks, of: owed.generation, isGone: isGone, now: now), "evicted \(owed.blocks) \(isGone)")
        }
        guard let generation = machine.version?.generation else { return }
        let blocks = machine.evict(number(1...100), sparing: ByteRangeSet(), regions: [])
        note("takes \(blocks) away")
        if !blocks.isEmpty { owedEviction = (blocks, generation) }
        if let broken = machine.violations.first { fail("after an eviction began: \(broken)") }
    }

    mutating func storeFails() {
        guard let generation = machine.version?.generation else { return }
        take(machine.storeFailed(generation, .storeTrouble("full"), now: now), "store fails")
    }

    mutating func pass(_ duration: Nanoseconds) {
        now = now + duration
        guard let due = timer, due <= now else { return }
        timer = nil
        take(machine.timePassed(now: now), "time \(now.nanoseconds / 1_000_000) ms")
    }
}
