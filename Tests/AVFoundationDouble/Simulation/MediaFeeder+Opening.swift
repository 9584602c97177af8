import SpoolCore
import SpoolSystem

/// The requests that were made while the headers were read.
struct Opening {
    var boxes = 0
    var probes = 0
    var hasStartedTwice = false
}

/// The steps from the content information until the item is ready: probes, the front, the index at
/// the end.
extension MediaFeeder {
    func lookOpening() {
        guard let length else { return }
        guard length > 0 else { return fail(AVError.nsError(.fileFailedToParse)) }
        startAgainIfItIsAHabit()
        guard mayAsk, number(of: .box) == nil, number(of: .head) == nil else { return }
        if opening.boxes < habits.boxReads { return readBox(length) }
        if opening.probes < habits.legacyProbes { return readPage(length) }
        for (index, header) in media.headers(length: length).enumerated() {
            guard let gap = have.firstGap(in: header) else { continue }
            return index == 0 ? readFront(gap, length) : readTail(gap, length)
        }
        becomeReady(length)
    }

    /// L9: reads eight bytes at successive box headers.
    private func readBox(_ length: Int64) {
        let offset = Int64(opening.boxes) * 32
        opening.boxes += 1
        if offset + 8 <= length { ask(.box, LoadingAsk.Data(offset: offset, length: 8)) } else { lookOpening() }
    }

    /// L3: reads one page after the other, before any request to the end.
    private func readPage(_ length: Int64) {
        let offset = Int64(opening.probes) * habits.pageBytes
        opening.probes += 1
        let count = min(habits.pageBytes, length - offset)
        if count > 0 { ask(.head, LoadingAsk.Data(offset: offset, length: Int(count))) } else { lookOpening() }
    }

    private func readFront(_ gap: ByteRange, _ length: Int64) {
        // One request brings the front and the first track.
        if number(of: .track(0)) == nil { askToEnd(.track(0), from: gap.lowerBound, length) }
    }

    /// T4: reads the index at the end. The request at the front is cancelled or left open.
    private func readTail(_ gap: ByteRange, _ length: Int64) {
        // A greedy request from the front may bring the index, but the player does not wait for
        // that.
        guard number(of: .tail) == nil else { return }
        let front = number(of: .track(0))
        let order = habits.readsTailInParallel ? PlayerHabits.CancelOrder.never : habits.cancelOrder
        if let front, order == .cancelFirst { takeBack(front) }
        let count = Int(length - gap.lowerBound)
        ask(.tail, LoadingAsk.Data(offset: gap.lowerBound, length: count, toEnd: !habits.asksTailByLength))
        if let front, order == .newFirst { takeBack(front) }
    }

    private func becomeReady(_ length: Int64) {
        phase = .ready
        if let tail = number(of: .tail) { takeBack(tail) }
        lookTracks()
    }

    /// L6: drops the first request to the end after a few bytes, and repeats it.
    private func startAgainIfItIsAHabit() {
        guard habits.startsTwice, !opening.hasStartedTwice, let number = number(of: .track(0)), let ask = asks[number],
            ask.receivedBytes > 0, let length
        else { return }
        opening.hasStartedTwice = true
        takeBack(number)
        let offset = world.random.chance(1, in: 2) && ask.next >= habits.pageBytes ? habits.pageBytes : 0
        if offset < length { askToEnd(.track(0), from: offset, length) }
    }

    /// Makes a request to the end of the resource, from the start of the page of `offset`.
    func askToEnd(_ role: Role, from offset: Int64, _ length: Int64) {
        let lower = offset / habits.pageBytes * habits.pageBytes
        let data = LoadingAsk.Data(offset: lower, length: habits.asksUnknownLength ? .max : Int(length - lower), toEnd: true)
        defer { repeatIfItIsAHabit(data, length) }
        ask(role, data)
    }

    /// C5: repeats a request near the end while the first is open.
    private func repeatIfItIsAHabit(_ data: LoadingAsk.Data, _ length: Int64) {
        guard habits.repeatsTail, !hasRepeatedTail, length - data.offset <= 2 * habits.pageBytes else { return }
        hasRepeatedTail = true
        if let second = ask(.tail, data) { asks[second]?.isForgotten = true }
    }
}
