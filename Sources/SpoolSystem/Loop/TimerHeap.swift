package import SpoolCore

/// The identifier of an event loop's timer. It is invalid after the timer fired or was cancelled.
package struct LoopTimer: Hashable, Sendable {
    var slot: Int
    var generation: UInt32
}

/// Timers in the order of their deadlines. Timers with the same deadline keep the order of arming.
///
/// A binary heap whose entries store their slot, so that arming and cancelling a timer take O(log
/// *n*) and leave no entry behind.
package struct TimerHeap<Job> {
    private struct Entry {
        var deadline: MonotonicInstant
        var sequence: UInt64
        var slot: Int

        static func < (a: Entry, b: Entry) -> Bool {
            a.deadline == b.deadline ? a.sequence < b.sequence : a.deadline < b.deadline
        }
    }

    private struct Slot {
        var generation: UInt32 = 0
        /// The position of the slot's entry in the heap.
        var position = 0
        /// Nil while the slot is free.
        var job: Job?
    }

    private var heap: [Entry] = []
    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    /// The number of timers that were armed so far.
    package private(set) var nextSequence: UInt64 = 0

    /// Creates an empty heap.
    package init() {}

    /// The number of timers.
    package var count: Int { heap.count }

    /// The first deadline, if a timer is armed.
    package var firstDeadline: MonotonicInstant? { heap.first?.deadline }

    /// Adds a timer.
    package mutating func arm(_ deadline: MonotonicInstant, _ job: Job) -> LoopTimer {
        let slot = freeSlots.popLast() ?? newSlot()
        slots[slot].job = job
        heap.append(Entry(deadline: deadline, sequence: nextSequence, slot: slot))
        nextSequence += 1
        siftUp(heap.count - 1)
        return LoopTimer(slot: slot, generation: slots[slot].generation)
    }

    /// Removes a timer. Returns false when it fired or was cancelled before.
    @discardableResult
    package mutating func cancel(_ timer: LoopTimer) -> Bool {
        guard slots.indices.contains(timer.slot), slots[timer.slot].generation == timer.generation, slots[timer.slot].job != nil
        else { return false }
        remove(at: slots[timer.slot].position)
        return true
    }

    /// Removes and returns the first timer's job, if it is due at `now` and was armed before
    /// `sequence`.
    package mutating func popDue(_ now: MonotonicInstant, armedBefore sequence: UInt64) -> Job? {
        guard let first = heap.first, first.deadline <= now, first.sequence < sequence else { return nil }
        let job = slots[first.slot].job
        remove(at: 0)
        return job
    }

    private mutating func newSlot() -> Int {
        slots.append(Slot())
        return slots.count - 1
    }

    private mutating func remove(at position: Int) {
        let slot = heap[position].slot
        slots[slot].job = nil
        slots[slot].generation &+= 1
        freeSlots.append(slot)
        let last = heap.removeLast()
        guard position < heap.count else { return }
        place(last, at: position)
        siftUp(position)
        siftDown(slots[last.slot].position)
    }

    private mutating func place(_ entry: Entry, at position: Int) {
        heap[position] = entry
        slots[entry.slot].position = position
    }

    private mutating func siftUp(_ start: Int) {
        let entry = heap[start]
        var position = start
        while position > 0 {
            let parent = (position - 1) / 2
            guard entry < heap[parent] else { break }
            place(heap[parent], at: position)
            position = parent
        }
        place(entry, at: position)
    }

    private mutating func siftDown(_ start: Int) {
        let entry = heap[start]
        var position = start
        while true {
            var child = 2 * position + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, heap[child + 1] < heap[child] { child += 1 }
            guard heap[child] < entry else { break }
            place(heap[child], at: position)
            position = child
        }
        place(entry, at: position)
    }
}
