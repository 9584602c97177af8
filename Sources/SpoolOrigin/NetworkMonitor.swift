public import SpoolCore

/// Reports the conditions of the network and the device, to which a `NetworkPolicy` applies.
///
/// A cache has the monitor of the system on Apple's systems. An app may bring its own
/// (`Configuration.Network.monitor`), for example to treat a certain Wi-Fi as expensive, and a test
/// reports whatever it needs. Each cache needs a monitor of its own.
public protocol NetworkMonitor: AnyObject, Sendable {
    /// Begins to report: the present conditions soon, and each change after that.
    ///
    /// - Parameter report: Called on any thread, one call at a time.
    func start(_ report: @escaping @Sendable (NetworkConditions) -> Void)
    /// Ends the reports. A call that is under way may still end after it.
    func stop()
}
