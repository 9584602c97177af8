import Rangeable
import Testing

/// Compares every combination of two sets with that of their bitmaps.
func checkCombinations<Bound>(_ a: Pair<Bound>, _ b: Pair<Bound>, _ context: String) {
    typealias Set = IntervalSet<Bound>
    let operations: [(Set, (inout Set) -> Void, (Bool, Bool) -> Bool)] = [
        (a.set.union(b.set), { $0.formUnion(b.set) }, { $0 || $1 }),
        (a.set.intersection(b.set), { $0.formIntersection(b.set) }, { $0 && $1 }),
        (a.set.subtracting(b.set), { $0.subtract(b.set) }, { $0 && !$1 }),
        (a.set.symmetricDifference(b.set), { $0.formSymmetricDifference(b.set) }, { $0 != $1 }),
    ]
    for (index, (result, change, rule)) in operations.enumerated() {
        result.checkInvariants()
        #expect(result.intervals == a.bitmap.combined(with: b.bitmap, rule).intervals, "operation \(index), \(context)")
        var changed = a.set
        change(&changed)
        #expect(changed == result, "operation \(index), \(context)")
    }
    let common = a.bitmap.combined(with: b.bitmap) { $0 && $1 }
    #expect(a.set.isDisjoint(with: b.set) == common.intervals.isEmpty, "\(context)")
    #expect(a.set.isSubset(of: b.set) == (common == a.bitmap), "\(context)")
    #expect(a.set.isSuperset(of: b.set) == (common == b.bitmap), "\(context)")
}
