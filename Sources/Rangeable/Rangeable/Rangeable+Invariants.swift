extension Rangeable {
    /// Traps unless members, serials and boundaries agree.
    ///
    /// For tests, which call it after each change.
    ///
    ///     styles.checkInvariants()
    /// - Complexity: O(*n* log *n*).
    public func checkInvariants() {
        boundaries.boundaries.checkInvariants()
        var expected: [Boundary] = []
        for (serial, member) in members.enumerated() {
            guard let member else { continue }
            member.intervals.checkInvariants()
            precondition(!member.intervals.isEmpty, "\(member.element) is there and nowhere active")
            precondition(serials[member.element] == serial, "\(member.element) has two serials")
            expected += member.intervals.flatMap { [.opening(of: $0, serial), .closing(of: $0, serial)] }
        }
        precondition(serials.count == members.count { $0 != nil }, "a serial without a member")
        precondition(members.count - serials.count <= boundaries.intervalCount, "more vacancies than intervals")
        precondition(
            expected.sorted { $0.precedes($1) } == Array(boundaries.boundaries), "boundaries that are not the members'")
    }
}
