import Rangeable

/// A naive model of a container: for each element, in order of first insertion, one `Bool` for each
/// coordinate of a world.
struct RangeableModel: Equatable {
    /// The coordinates of the world, which may be at either end of `Int`.
    let world: ClosedRange<Int>
    private(set) var members: [Member] = []

    struct Member: Equatable {
        let element: Int
        var bits: [Bool]
    }

    init(_ world: ClosedRange<Int>) { self.world = world }

    var width: Int { world.upperBound - world.lowerBound + 1 }

    private func coordinate(_ offset: Int) -> Int { world.lowerBound + offset }

    // MARK: Changes

    mutating func set(_ element: Int, _ offsets: ClosedRange<Int>, _ isActive: Bool) {
        let index = members.firstIndex { $0.element == element } ?? members.count
        if index == members.count { members.append(Member(element: element, bits: Array(repeating: false, count: width))) }
        for offset in offsets { members[index].bits[offset] = isActive }
        prune()
    }

    mutating func clear(_ offsets: ClosedRange<Int>) {
        for index in members.indices { for offset in offsets { members[index].bits[offset] = false } }
        prune()
    }

    mutating func removeAll() { members = [] }

    /// Combines bit by bit. Elements that only `other` has come last, in its order.
    func combined(with other: RangeableModel, _ rule: (Bool, Bool) -> Bool) -> RangeableModel {
        let none = Array(repeating: false, count: width)
        var result = RangeableModel(world)
        let missing = other.members.filter { theirs in !members.contains { $0.element == theirs.element } }
        for element in (members + missing).map(\.element) {
            let mine = bits(of: element) ?? none, theirs = other.bits(of: element) ?? none
            result.members.append(Member(element: element, bits: zip(mine, theirs).map(rule)))
        }
        result.prune()
        return result
    }

    private mutating func prune() { members.removeAll { !$0.bits.contains(true) } }

    private func bits(of element: Int) -> [Bool]? { members.first { $0.element == element }?.bits }

    // MARK: Queries

    func active(at offset: Int) -> [Int] { members.filter { $0.bits[offset] }.map(\.element) }

    func intervals(of element: Int) -> [Interval] {
        offsets(of: element).map { Interval(lo: coordinate($0.lowerBound), hi: coordinate($0.upperBound)) }
    }

    private func offsets(of element: Int) -> [ClosedRange<Int>] {
        guard let bits = bits(of: element) else { return [] }
        let starts = bits.indices.filter { bits[$0] && ($0 == 0 || !bits[$0 - 1]) }
        let ends = bits.indices.filter { bits[$0] && ($0 == width - 1 || !bits[$0 + 1]) }
        return zip(starts, ends).map { $0...$1 }
    }

    /// Follows the rules of the RFC's §3.5 and §4.5 literally.
    func transitions(_ offsets: ClosedRange<Int>) -> [TransitionEvent<Int>] {
        typealias Event = (offset: Int, order: Int, event: TransitionEvent<Int>)
        var events: [Event] = []
        for (order, member) in members.enumerated() {
            for run in self.offsets(of: member.element) {
                let end = coordinate(run.upperBound)
                let open = TransitionEvent(coordinate: coordinate(run.lowerBound), kind: .open, element: member.element)
                let close = TransitionEvent(coordinate: end == .max ? nil : end + 1, kind: .close, element: member.element)
                events.append((run.lowerBound, order, open))
                // Closings come after all openings of a coordinate, and the element inserted last
                // comes first.
                events.append((run.upperBound + 1, members.count * 2 - order, close))
            }
        }
        return events.filter { $0.offset >= offsets.lowerBound && $0.offset <= offsets.upperBound + 1 }
            .sorted { ($0.offset, $0.order) < ($1.offset, $1.order) }
            .map(\.event)
    }
}

/// A container and its naive model, which receive the same changes as offsets from the world's
/// start.
struct RangeableTwins {
    var container = Rangeable<Int>()
    var model: RangeableModel

    init(_ world: ClosedRange<Int>) { model = RangeableModel(world) }

    private func range(_ offsets: ClosedRange<Int>) -> ClosedRange<Int> {
        model.world.lowerBound + offsets.lowerBound...model.world.lowerBound + offsets.upperBound
    }

    mutating func insert(_ element: Int, _ offsets: ClosedRange<Int>) throws {
        let range = range(offsets)
        try container.insert(element, start: range.lowerBound, end: range.upperBound)
        model.set(element, offsets, true)
    }

    mutating func remove(_ element: Int, _ offsets: ClosedRange<Int>) {
        container.remove(element, over: range(offsets))
        model.set(element, offsets, false)
    }

    mutating func remove(_ element: Int) {
        container.remove(element)
        model.set(element, 0...model.width - 1, false)
    }

    mutating func removeRanges(_ offsets: ClosedRange<Int>) {
        container.removeRanges(over: range(offsets))
        model.clear(offsets)
    }

    mutating func removeAll() {
        container.removeAll()
        model.removeAll()
    }

    /// Whether elements, order and intervals are those of the model.
    var areSame: Bool {
        container.count == model.members.count
            && zip(container, model.members).allSatisfy { $0.0 == $1.element && $0.1 == model.intervals(of: $1.element) }
    }

    /// Returns the queries for these offsets whose results differ from the model's.
    func differences(stabs: some Sequence<Int>, ranges: some Sequence<ClosedRange<Int>>) -> [String] {
        stabs.compactMap { offset in
            let answer = container[model.world.lowerBound + offset].objs, expected = model.active(at: offset)
            return answer == expected ? nil : "active at \(offset): \(answer), not \(expected), in \(container)"
        }
            + ranges.compactMap { offsets in
                let answer = container.transitions(over: range(offsets)), expected = model.transitions(offsets)
                return answer == expected ? nil : "transitions over \(offsets): \(answer), not \(expected), in \(container)"
            }
    }
}

/// Returns all intervals of the offsets below `width`.
func allIntervals(below width: Int) -> [ClosedRange<Int>] {
    (0..<width).flatMap { first in (first..<width).map { first...$0 } }
}
