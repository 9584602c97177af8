/// The present state of the device's network and power, as a `NetworkMonitor` reports it.
public struct NetworkConditions: Hashable, Sendable {
    /// Whether requests go through the cellular network.
    public var isCellular = false
    /// Whether the system treats the network as expensive.
    public var isExpensive = false
    /// Whether the network is in Low Data Mode.
    public var isConstrained = false
    /// Whether the device is in Low Power Mode.
    public var isInLowPowerMode = false
    /// How hot the device is.
    public var thermalState = ThermalState.nominal
    /// Whether the system reports that there is no network. Requests run all the same, and fail by
    /// themselves.
    package var isOffline = false

    /// Creates the conditions of a cool device at a free network.
    public init() {}
}

/// How hot a device is, in the steps of Apple's systems.
public enum ThermalState: Int, Hashable, Comparable, Sendable {
    /// The temperature is normal.
    case nominal
    /// The device is warm. The system begins to save energy.
    case fair
    /// The device is hot, and its performance suffers.
    case serious
    /// The device has to cool down at once.
    case critical

    /// Compares the temperatures.
    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// The reason why a request may not run now.
///
/// A later version may add cases. Outside this package, a `switch` needs `@unknown default` or
/// `default`.
#if compiler(>=6.3)
@nonexhaustive
#endif
public enum NetworkRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// Only the cellular network is there.
    case cellular
    /// Only an expensive network is there.
    case expensive
    /// The network is in Low Data Mode.
    case constrained
    /// The device is in Low Power Mode.
    case lowPowerMode
    /// The device is too hot.
    case heat(ThermalState)
    /// A player needs the link, so less urgent requests pause.
    case playback
    /// The app has switched the network off (`NetworkPolicy.isOffline`).
    case offline
    /// The cache is bypassed (`MediaCache.isBypassed`), so preloads and downloads wait.
    case bypassed

    /// The reason in one line for people.
    public var description: String {
        switch self {
        case .cellular: "the cellular network may not be used"
        case .expensive: "the network is expensive"
        case .constrained: "the network is in Low Data Mode"
        case .lowPowerMode: "the device is in Low Power Mode"
        case .heat(let state): "the device is too hot (\(state))"
        case .playback: "a player needs the link"
        case .offline: "the app is in offline mode"
        case .bypassed: "the cache is bypassed"
        }
    }
}
