import SpoolLibc
import SpoolSystem

/// The faults of a ``MemoryDisk``, by chance from a seed or at a given call.
public struct FaultPlan: Sendable {
    /// The calls that can fail.
    public enum Call: String, Hashable, Sendable, CaseIterable {
        case open, createDirectory, unlink, removeDirectory, rename, synchronizeDirectory, list, status
        case read, write, truncate, punchHole, synchronize, lock
    }

    /// The calls of a kind at which a fault strikes.
    public enum Trigger: Hashable, Sendable {
        /// One call in this many, chosen by the seed.
        case oneIn(UInt64)
        /// The nth call since the plan was set, counted from 1.
        case call(Int)
        /// Every call from the nth on.
        case from(Int)
    }

    /// One kind of call that fails.
    public struct Fault: Hashable, Sendable {
        /// The kind of call.
        public var call: Call
        /// The calls of this kind that fail.
        public var trigger: Trigger
        /// The errno.
        public var code: Int32
        /// The end of the paths that fail. An empty one matches every path.
        public var pathSuffix: String

        /// Creates a fault.
        public init(_ call: Call, _ trigger: Trigger, code: Int32, pathSuffix: String = "") {
            self.call = call
            self.trigger = trigger
            self.code = code
            self.pathSuffix = pathSuffix
        }
    }

    /// The seed of all chances.
    public var seed: UInt64
    /// The faults. The first one that strikes decides the errno.
    public var faults: [Fault]
    /// One read in this many returns fewer bytes than there are, but at least one. 0 means no such
    /// reads.
    public var shortReadOneIn: UInt64
    /// The capacity of the disk in bytes. Writes beyond it fail with `ENOSPC`. Nil means unlimited.
    public var capacityBytes: Int64?
    /// The number of changes after which the disk is dead: every call then fails with `EIO`. Nil
    /// means never.
    public var diesAfterOperation: Int?

    /// Creates a plan, by default without faults.
    public init(
        seed: UInt64 = 0, faults: [Fault] = [], shortReadOneIn: UInt64 = 0, capacityBytes: Int64? = nil, diesAfterOperation: Int? = nil
    ) {
        self.seed = seed
        self.faults = faults
        self.shortReadOneIn = shortReadOneIn
        self.capacityBytes = capacityBytes
        self.diesAfterOperation = diesAfterOperation
    }

    /// A plan without faults or limits.
    public static let none = FaultPlan()

    /// Returns a plan in which every kind of call fails once in `oneIn` calls, with an errno that
    /// real calls give: `EIO` for most, `EMFILE` or `ENOSPC` for some.
    public static func random(seed: UInt64, oneIn: UInt64) -> FaultPlan {
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

/// Decides by a plan which calls fail.
struct FaultInjector {
    let plan: FaultPlan
    let random: SeededRandom
    private var counts: [FaultPlan.Call: Int] = [:]

    init(_ plan: FaultPlan) {
        self.plan = plan
        random = SeededRandom(seed: plan.seed)
    }

    /// Counts a call, and returns the errno with which it fails, or nil if it succeeds.
    mutating func code(for call: FaultPlan.Call, path: String, operations: Int) -> Int32? {
        let count = counts[call, default: 0] + 1
        counts[call] = count
        if let last = plan.diesAfterOperation, operations >= last { return EIO }
        // Every fault draws a number, so adding a fault that does not strike leaves the others
        // unchanged.
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

    /// Returns the number of calls of a kind.
    func count(of call: FaultPlan.Call) -> Int { counts[call, default: 0] }

    /// Returns the number of bytes that a read returns that could return `count`.
    func readableCount(_ count: Int) -> Int {
        guard plan.shortReadOneIn > 0, count > 1, random.chance(1, in: plan.shortReadOneIn) else { return count }
        return 1 + Int(random.next(below: UInt64(count - 1)))
    }

    /// Returns the number of bytes of a failing write that reach the file.
    func writtenPrefix(_ count: Int) -> Int {
        Int(random.next(below: UInt64(count) + 1))
    }
}
