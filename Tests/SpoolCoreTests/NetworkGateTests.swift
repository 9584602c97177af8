import SpoolCore
import Testing

/// Which fetches the network policy holds back, and when it lets them go on.
@Suite struct NetworkGateTests {
    private static let phone: NetworkConditions = {
        var conditions = NetworkConditions()
        (conditions.isCellular, conditions.isExpensive) = (true, true)
        return conditions
    }()

    private static func conditions(_ change: (inout NetworkConditions) -> Void) -> NetworkConditions {
        var conditions = NetworkConditions()
        change(&conditions)
        return conditions
    }

    private static func access(_ change: (inout NetworkAccess) -> Void) -> NetworkAccess {
        var access = NetworkAccess()
        change(&access)
        return access
    }

    @Test(arguments: [
        (access { $0.allowsCellular = false }, conditions { $0.isCellular = true }, NetworkRefusal.cellular),
        (access { $0.allowsExpensive = false }, conditions { $0.isExpensive = true }, .expensive),
        (access { $0.allowsConstrained = false }, conditions { $0.isConstrained = true }, .constrained),
        (access { $0.allowsLowPowerMode = false }, conditions { $0.isInLowPowerMode = true }, .lowPowerMode),
        (access { $0.hottest = .fair }, conditions { $0.thermalState = .serious }, .heat(.serious)),
    ])
    func `each condition is refused by its own setting only`(
        access: NetworkAccess, conditions: NetworkConditions, refusal: NetworkRefusal
    ) {
        #expect(access.refusal(under: conditions) == refusal)
        #expect(NetworkAccess().refusal(under: conditions) == nil)
        #expect(access.refusal(under: NetworkConditions()) == nil)
    }

    @Test func `a fetch is held under refused conditions, and released under permitted ones`() {
        var policy = NetworkPolicy()
        policy.downloads.allowsCellular = false
        var gate = NetworkGate(policy: policy)
        #expect(gate.entered(1, FetchDemand(.prefetch), sequence: 0) == nil)
        #expect(gate.entered(2, FetchDemand(.playing), sequence: 0) == nil)
        let held = gate.conditionsChanged(Self.phone)
        #expect(held.map(\.id) == [1] && held.map(\.refusal) == [.cellular])
        #expect(gate.conditionsChanged(Self.phone).isEmpty)
        let late = gate.entered(3, FetchDemand(.upcoming), sequence: 0)
        #expect(late?.refusal == .cellular)
        gate.left(3)
        let released = gate.conditionsChanged(NetworkConditions())
        #expect(released.map(\.id) == [1] && released.map(\.refusal) == [nil])
        #expect(released[0].number > late?.number ?? .max && late?.number ?? 0 > held[0].number)
    }

    @Test func `a new policy judges the fetches that run`() {
        var gate = NetworkGate()
        _ = gate.conditionsChanged(Self.phone)
        #expect(gate.entered(1, FetchDemand(.playing), sequence: 0) == nil)
        var policy = NetworkPolicy()
        policy.playback.allowsExpensive = false
        #expect(gate.policyChanged(policy).map(\.refusal) == [.expensive])
        #expect(gate.policyChanged(policy).isEmpty)
        #expect(gate.policyChanged(NetworkPolicy()).map(\.refusal) == [nil])
    }

    @Test func `a fetch runs if one of its readers permits it`() {
        var policy = NetworkPolicy()
        policy.downloads.allowsCellular = false
        var gate = NetworkGate(policy: policy)
        _ = gate.conditionsChanged(Self.phone)
        let download = FetchDemand(.prefetch), player = FetchDemand(.playing)
        let strict = FetchDemand(.playing, access: NetworkAccess(allowsCellular: false))
        #expect(gate.refuses(FetchDemand(of: [download, strict])))
        #expect(!gate.refuses(FetchDemand(of: [download, strict, player])))
        #expect(!gate.refuses(FetchDemand(of: [strict, FetchDemand(.prefetch, access: NetworkAccess())])))
        #expect(gate.refuses(FetchDemand(of: [FetchDemand]())), "without readers it is a download")
    }

    @Test func `a change of the demand that arrives late is ignored`() {
        var policy = NetworkPolicy()
        policy.downloads.allowsCellular = false
        var gate = NetworkGate(policy: policy)
        _ = gate.conditionsChanged(Self.phone)
        #expect(gate.entered(1, FetchDemand(.prefetch), sequence: 0)?.refusal == .cellular)
        #expect(gate.demanded(1, FetchDemand(.playing), sequence: 2)?.refusal == .some(nil))
        #expect(gate.demanded(1, FetchDemand(.prefetch), sequence: 1) == nil)
        #expect(gate.access(of: 1) == policy.playback)
    }
}
