import SpoolSystem

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// What goes wrong on a ``MemoryDisk``, by chance from a seed or at a given call.
package struct FaultPlan: Sendable {
    /// The calls that can fail.
    package enum Call: String, Hashable, Sendable, CaseIterable {
        case open, createDirectory, unlink, removeDirectory, rename, synchronizeDirectory, list, status
        case read, write, truncate, punchHole, synchronize, lock
    }

    package enum Trigger: Hashable, Sendable {
        /// One call in so many, by the seed.
        case oneIn(UInt64)
        /// The nth call of its kind since the plan was set, counted from 1.
        case call(Int)
        /// Every call from the nth on.
        case from(Int)
    }

    package struct Fault: Hashable, Sendable {
        package var call: Call
        package var trigger: Trigger
        /// The errno.
        package var code: Int32
        /// Only paths that end so; an empty one is every path.
        package var pathSuffix: String

        package init(_ call: Call, _ trigger: Trigger, code: Int32, pathSuffix: String = "") {
            self.call = call
            self.trigger = trigger
            self.code = code
            self.pathSuffix = pathSuffix
        }
    }

    package var seed: UInt64
    package var faults: [Fault]
    /// One read in so many gives fewer bytes than there are (at least one); 0 for none.
    package var shortReadOneIn: UInt64
    /// What the disk can hold in bytes; beyond it writes fail with `ENOSPC`. Nil is no limit.
    package var capacityBytes: Int64?
    /// After this many changes the disk is dead: every call fails with `EIO`. Nil is never.
    package var diesAfterOperation: Int?

    package init(
        seed: UInt64 = 0, faults: [Fault] = [], shortReadOneIn: UInt64 = 0, capacityBytes: Int64? = nil, diesAfterOperation: Int? = nil
    ) {
        self.seed = seed
        self.faults = faults
        self.shortReadOneIn = shortReadOneIn
        self.capacityBytes = capacityBytes
        self.diesAfterOperation = diesAfterOperation
    }

    /// A disk without faults or limits.
    package static let none = FaultPlan()

    /// Every kind of call fails once in `oneIn` calls: data calls with `EIO`, the others with one of the errnos that they really give.
    package static func random(seed: UInt64, oneIn: UInt64) -> FaultPlan {
        let faults = Call.allCases.map { call in
            let code: Int32 =
                switch call {
                case .open: EMFILE
                case .createDirectory, .rename: ENOSPC
                default: EIO
                }
            return Fault(call, .oneIn(oneIn), code: code)
        }
        return FaultPlan(seed: seed, faults: faults, shortReadOneIn: oneIn)
    }
}

/// Decides by a plan which call fails.
struct FaultInjector {
    let plan: FaultPlan
    let random: SeededRandom
    private var counts: [FaultPlan.Call: Int] = [:]

    init(_ plan: FaultPlan) {
        self.plan = plan
        random = SeededRandom(seed: plan.seed)
    }

    /// The errno that this call fails with, or nil when it goes through. Each question counts as a call.
    mutating func code(for call: FaultPlan.Call, path: String, operations: Int) -> Int32? {
        let count = counts[call, default: 0] + 1
        counts[call] = count
        if let last = plan.diesAfterOperation, operations >= last { return EIO }
        // Every fault draws its number, so that one more fault that does not strike leaves the others where they were.
        var code: Int32?
        for fault in plan.faults where fault.call == call && path.hasSuffix(fault.pathSuffix) {
            let strikes =
                switch fault.trigger {
                case .oneIn(let cases): cases > 0 && random.chance(1, in: cases)
                case .call(let number): count == number
                case .from(let number): count >= number
                }
            if strikes, code == nil { code = fault.code }
        }
        return code
    }

    /// How many calls of a kind there were.
    func count(of call: FaultPlan.Call) -> Int { counts[call, default: 0] }

    /// How many bytes a read gives that could give `count`.
    func readableCount(_ count: Int) -> Int {
        guard plan.shortReadOneIn > 0, count > 1, random.chance(1, in: plan.shortReadOneIn) else { return count }
        return 1 + Int(random.next(below: UInt64(count - 1)))
    }

    /// How much of a failing write reached the file all the same.
    func writtenPrefix(_ count: Int) -> Int {
        Int(random.next(below: UInt64(count) + 1))
    }
}
