import SpoolCore
import Testing

/// Random histories of requests, on virtual time, against the rules over a flat list.
@Suite struct ScheduleHistoryTests {
    private struct History {
        let total: Int, perHost: Int
        var scheduler: FetchScheduler
        var model: FlatSchedule
        var now = MonotonicInstant(nanoseconds: 1_000_000_000)
        var numbers: SeededGenerator
        var bytes: [UInt64: Int64] = [:]
        var idle: Set<UInt64> = []
        /// Since when each request that a client waits for could run in the place of an idle one.
        var wrongSince: [UInt64: MonotonicInstant] = [:]
        var changes: UInt64 = 0
        var deadline: MonotonicInstant?
        var faults: [String] = []

        init(seed: UInt64) {
            numbers = SeededGenerator(seed: seed)
            total = [4, 8, 16].randomElement(using: &numbers) ?? 8
            perHost = Int.random(in: 1...6, using: &numbers)
            scheduler = FetchScheduler(total: total, perHost: perHost, share: 0.5)
            model = FlatSchedule(total: total, perHost: perHost)
        }

        private mutating func random(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &numbers) }

        private mutating func anyID() -> UInt64? { model.list.randomElement(using: &numbers)?.id }

        private static func demand(_ urgency: ScheduledRequest.Urgency) -> FetchDemand {
            var demand = FetchDemand(ReadPriority(rawValue: min(urgency.rawValue, 2)) ?? .playing)
            demand.isAwaited = urgency == .awaited
            return demand
        }

        mutating func step(submits: Bool = true) {
            switch random(0...11) {
            case 0...3 where submits: submit()
            case 4: if let id = anyID() { finish(id) }
            case 5: demand()
            case 6: answer()
            case 7: refuse()
            case 8: need()
            case 9: if let id = model.running.randomElement(using: &numbers)?.id { idle.formSymmetricDifference([id]) }
            default: pass(.milliseconds(Int64(random(1...3000))))
            }
            settle()
        }

        private mutating func submit() {
            let urgency = ScheduledRequest.Urgency(rawValue: random(0...3)) ?? .awaited
            let client = random(0...3), host = "host-\(random(0...2))", isHeldBack = random(0...9) == 0
            let name: [UInt8]? = client == 0 ? nil : [UInt8(client)]
            let id = scheduler.submitted(host: host, client: name, isHeldBack: isHeldBack, Self.demand(urgency), now: now)
            model.list.append(
                FlatSchedule.Request(id: id, host: host, client: name, isHeldBack: isHeldBack, urgency: urgency, since: now))
        }

        mutating func finish(_ id: UInt64) {
            scheduler.finished(id)
            model.list.removeAll { $0.id == id }
            idle.remove(id)
        }

        /// Requests become less urgent, and those that nobody waited for more urgent.
        private mutating func demand() {
            guard let id = anyID(), let request = model.list.first(where: { $0.id == id }) else { return }
            let urgency = ScheduledRequest.Urgency(rawValue: random(0...2)) ?? .ahead
            guard urgency < request.urgency || request.urgency < .awaited else { return }
            changes += 1
            scheduler.demanded(id, Self.demand(urgency), sequence: changes, now: now)
            model.change(id) { $0.urgency = urgency }
        }

        private mutating func answer() {
            guard let request = model.running.randomElement(using: &numbers) else { return }
            if random(0...2) == 0, !request.isAnswered, !request.isLate {
                scheduler.late(request.id)
                model.change(request.id) { $0.isLate = true }
            } else {
                let isEndless = random(0...1) == 0
                scheduler.answered(request.id, isEndless: isEndless, now: now)
                model.change(request.id) { [now] in
                    ($0.isAnswered, $0.isLate, $0.endlessSince) = (true, false, isEndless ? now : nil)
                }
            }
        }

        private mutating func refuse() {
            guard random(0...4) == 0 else { return }
            let host = "host-\(random(0...2))", resource = UInt64(random(0...2)), until = now + .seconds(5)
            scheduler.refused(host: host, resource: resource, for: .seconds(5), now: now)
            var pause = model.pauses[host].flatMap { $0.until > now ? $0 : nil } ?? FlatSchedule.Pause(until: until, resource: resource)
            pause.until = max(pause.until, until)
            if pause.resource != resource { pause.isStrict = true }
            model.pauses[host] = pause
        }

        private mutating func need() {
            let need: BackgroundShare.Need = [.nothing, .bytes, .urgent].randomElement(using: &numbers) ?? .nothing
            let resource = UInt64(random(0...1))
            scheduler.playersChanged(of: resource, at: "\(resource)", need, now: now)
        }

        /// Lets time pass, with a plan at each deadline of the scheduler.
        mutating func pass(_ time: Nanoseconds) {
            let end = now + time
            while let next = deadline, next <= end {
                now = max(now, next)
                settle()
            }
            now = end
        }

        /// Carries out plans until nothing changes.
        mutating func settle() {
            // Each turn stops a request, or looks, or is the last.
            while true {
                let plan = scheduler.plan(now: now), expected = model.plan(now: now, allowance: scheduler.allowance)
                if plan.starts != expected { faults.append("\(plan.starts) start, and not \(expected)") }
                deadline = plan.deadline
                for id in plan.stops where idle.contains(id) { finish(id) }
                for id in plan.stops where !idle.contains(id) { scheduler.idle(id, false) }
                if !plan.stops.isEmpty { continue }
                guard plan.wantsLooks else { break }
                look()
            }
            check()
        }

        private mutating func look() {
            let looks = scheduler.running.map { id in
                // Of three requests one is fast, one slow, and one quiet.
                let moved = bytes[id, default: 0] + [1 << 20, 100, 0][Int(id % 3)]
                bytes[id] = moved
                return FetchScheduler.Look(id: id, bytes: moved, isIdle: idle.contains(id))
            }
            scheduler.looked(looks, now: now)
            for look in looks { model.change(look.id) { [now] in $0.use?.looked(look.bytes, now: now) } }
        }

        private mutating func check() {
            let running = model.running
            if Set(scheduler.running) != Set(running.map(\.id)) { faults.append("other requests run") }
            if scheduler.running.count + scheduler.waitingCount != model.list.count { faults.append("a request is lost") }
            if running.count > FetchScheduler.mostRequests(total: total) { faults.append("\(running.count) run") }
            let counts = Dictionary(running.map { ($0.client, 1) }, uniquingKeysWith: +)
            for count in counts.values where count > scheduler.ceiling - scheduler.clientShare + 1 { faults.append("\(count) of a client") }
            checkIdle(running)
        }

        /// Notes how long a request that a client waits for is kept by an idle one of its host.
        private mutating func checkIdle(_ running: [FlatSchedule.Request]) {
            let places = Set(running.filter { idle.contains($0.id) && !$0.isHeldBack }.map(\.host))
            var wrong: [UInt64: MonotonicInstant] = [:]
            for request in model.list where request.use == nil && request.urgency == .awaited && running.count < total {
                guard places.contains(request.host), model.pauses[request.host] == nil else { continue }
                let since = wrongSince[request.id] ?? now
                wrong[request.id] = since
                if now - since > .seconds(2) { faults.append("an idle request keeps a client waiting") }
            }
            wrongSince = wrong
        }
    }

    @Test func `what starts is what the rules over a flat list start, and no client waits for an idle request`() {
        for seed in UInt64(1)...40 {
            var history = History(seed: seed)
            for _ in 0..<250 { history.step() }
            #expect(history.faults == [], "seed \(seed)")
        }
    }

    @Test func `the last request in each queue is served`() {
        for seed in UInt64(1)...12 {
            var history = History(seed: seed)
            for _ in 0..<200 { history.step() }
            var open = Set(history.model.list.map(\.id))
            // Each running request ends within ten seconds from now on.
            for _ in 0..<600 where !open.isEmpty {
                for request in history.model.running { history.finish(request.id) }
                open = Set(history.model.list.map(\.id))
                history.settle()
                history.pass(.seconds(1))
            }
            #expect(open.isEmpty, "seed \(seed)")
            #expect(history.faults == [], "seed \(seed)")
        }
    }
}
