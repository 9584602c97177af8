/// The conditions under which a request to an origin may run.
///
/// A request that is not permitted waits until the conditions permit it, and a running one pauses.
/// Conditions come from a `NetworkMonitor`; without one, every request is permitted. `URLSession`
/// also keeps the requests themselves off the networks that are not allowed.
public struct NetworkAccess: Hashable, Sendable {
    /// Whether the cellular network may be used.
    public var allowsCellular = true
    /// Whether networks that the system treats as expensive may be used: cellular and personal
    /// hotspots.
    public var allowsExpensive = true
    /// Whether networks in Low Data Mode may be used.
    public var allowsConstrained = true
    /// Whether requests run while the device is in Low Power Mode.
    public var allowsLowPowerMode = true
    /// The hottest state of the device in which requests run. The default permits every state.
    public var hottest = ThermalState.critical

    /// Creates options that permit these networks; all by default.
    public init(allowsCellular: Bool = true, allowsExpensive: Bool = true, allowsConstrained: Bool = true) {
        self.allowsCellular = allowsCellular
        self.allowsExpensive = allowsExpensive
        self.allowsConstrained = allowsConstrained
    }

    /// Returns the reason why a request may not run now, or nil if it may.
    package func refusal(under conditions: NetworkConditions) -> NetworkRefusal? {
        if conditions.isCellular, !allowsCellular { return .cellular }
        if conditions.isExpensive, !allowsExpensive { return .expensive }
        if conditions.isConstrained, !allowsConstrained { return .constrained }
        if conditions.isInLowPowerMode, !allowsLowPowerMode { return .lowPowerMode }
        return conditions.thermalState > hottest ? .heat(conditions.thermalState) : nil
    }

    /// Returns the access that permits what either of two permits.
    package func union(_ other: NetworkAccess) -> NetworkAccess {
        var union = NetworkAccess(
            allowsCellular: allowsCellular || other.allowsCellular, allowsExpensive: allowsExpensive || other.allowsExpensive,
            allowsConstrained: allowsConstrained || other.allowsConstrained)
        union.allowsLowPowerMode = allowsLowPowerMode || other.allowsLowPowerMode
        union.hottest = max(hottest, other.hottest)
        return union
    }
}
