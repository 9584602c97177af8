/// The identifier of a descriptor that an event loop watches. It is invalid after `deregister`.
package struct Registration: Hashable, Sendable {
    var slot: UInt32
    var generation: UInt32

    /// The value that the poller stores for the registration. The highest generation is never used,
    /// so no token equals that of the wake-up.
    var token: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
}

extension Registration {
    init(token: UInt64) {
        self.init(slot: UInt32(truncatingIfNeeded: token), generation: UInt32(truncatingIfNeeded: token >> 32))
    }
}

/// The table of watched descriptors.
///
/// A registration has a generation instead of only the descriptor's number, for this reason:
/// 1. One batch of events has a report for descriptor 7 and one for descriptor 8.
/// 2. The handler of 7 closes 8 and accepts a connection, which gets the number 8.
/// 3. The second report of the batch is for the old 8 and must not reach the new one.
struct Registrations {
    struct Entry {
        var generation: UInt32 = 0
        var descriptor: Int32 = -1
        var interest: PollInterest = []
        /// Nil while the slot is free.
        var handler: ((PollEvents) -> Void)?
    }

    private var entries: [Entry] = []
    private var freeSlots: [UInt32] = []

    mutating func insert(_ descriptor: Int32, _ interest: PollInterest, _ handler: @escaping (PollEvents) -> Void) -> Registration {
        let slot = freeSlots.popLast() ?? newSlot()
        entries[Int(slot)].descriptor = descriptor
        entries[Int(slot)].interest = interest
        entries[Int(slot)].handler = handler
        return Registration(slot: slot, generation: entries[Int(slot)].generation)
    }

    /// The entry of a registration, or nil when the registration is no longer valid.
    subscript(_ registration: Registration) -> Entry? {
        guard let index = index(registration) else { return nil }
        return entries[index]
    }

    func handler(token: UInt64) -> ((PollEvents) -> Void)? {
        guard let index = index(Registration(token: token)) else { return nil }
        return entries[index].handler
    }

    mutating func setInterest(_ interest: PollInterest, of registration: Registration) {
        guard let index = index(registration) else { return }
        entries[index].interest = interest
    }

    mutating func remove(_ registration: Registration) {
        guard let index = index(registration) else { return }
        entries[index].handler = nil
        entries[index].descriptor = -1
        let next = entries[index].generation &+ 1
        entries[index].generation = next == .max ? 0 : next
        freeSlots.append(registration.slot)
    }

    private func index(_ registration: Registration) -> Int? {
        let index = Int(registration.slot)
        guard index < entries.count, entries[index].generation == registration.generation, entries[index].handler != nil
        else { return nil }
        return index
    }

    private mutating func newSlot() -> UInt32 {
        entries.append(Entry())
        return UInt32(entries.count - 1)
    }
}
