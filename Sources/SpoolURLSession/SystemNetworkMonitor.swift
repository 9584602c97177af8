#if canImport(Network)
internal import Dispatch
internal import Foundation
internal import Network
package import SpoolCore
internal import SpoolOrigin
internal import SpoolSystem

/// Reports the conditions of the system: the network's path, Low Power Mode and the temperature.
package final class SystemNetworkMonitor: NetworkMonitor {
    private struct State: @unchecked Sendable {
        // Safe to share: only the lock of `state` reaches the tokens and the path monitor, which is
        // Sendable by itself from iOS 17 and macOS 14 on.
        let paths = NWPathMonitor()
        var conditions = NetworkConditions()
        var report: (@Sendable (NetworkConditions) -> Void)?
        var tokens: [any NSObjectProtocol] = []
    }

    /// Reports, one at a time.
    private let queue = DispatchQueue(label: "spool.network-monitor")
    private let state = Locked(State())

    /// Creates a monitor that does not report yet.
    package init() {}

    deinit { stop() }

    /// Begins to report the conditions of the system.
    package func start(_ report: @escaping @Sendable (NetworkConditions) -> Void) {
        let center = NotificationCenter.default
        let tokens = [Notification.Name.NSProcessInfoPowerStateDidChange, ProcessInfo.thermalStateDidChangeNotification].map { name in
            center.addObserver(forName: name, object: nil, queue: nil) { [weak self] _ in self?.readDeviceSoon() }
        }
        state.withLock { state in
            state.report = report
            state.tokens = tokens
        }
        readDeviceSoon()
        // Neither call waits for the handler, which runs on the queue.
        state.withLock { state in
            state.paths.pathUpdateHandler = { [weak self] path in self?.pathChanged(path) }
            state.paths.start(queue: queue)
        }
    }

    /// Ends the reports.
    package func stop() {
        let tokens = state.withLock { state in
            state.paths.cancel()
            defer { (state.report, state.tokens) = (nil, []) }
            return state.tokens
        }
        for token in tokens { NotificationCenter.default.removeObserver(token) }
    }

    /// Reads the state of the device on the queue, because a notification comes on any thread.
    private func readDeviceSoon() {
        queue.async { [weak self] in
            let info = ProcessInfo.processInfo
            self?.change { conditions in
                conditions.isInLowPowerMode = info.isLowPowerModeEnabled
                // The steps have the same numbers. One that the system adds later counts as the
                // hottest.
                conditions.thermalState = ThermalState(rawValue: info.thermalState.rawValue) ?? .critical
            }
        }
    }

    private func pathChanged(_ path: NWPath) {
        // Without a network, the other conditions stay. A request then fails by itself.
        guard path.status == .satisfied else { return change { $0.isOffline = true } }
        change { conditions in
            conditions.isOffline = false
            conditions.isCellular = path.usesInterfaceType(.cellular)
            conditions.isExpensive = path.isExpensive
            conditions.isConstrained = path.isConstrained
        }
    }

    private func change(_ body: (inout NetworkConditions) -> Void) {
        let (conditions, report) = state.withLock { state in
            body(&state.conditions)
            return (state.conditions, state.report)
        }
        report?(conditions)
    }
}
#endif
