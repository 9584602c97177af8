import Spool
import SpoolCore
import SpoolProxy
import SpoolSystem

/// The reports of a running server to the service manager: readiness, signs of life, and the end.
struct ServiceReport: Sendable {
    let log: StandardErrorLog

    #if os(Linux)
    private let manager = ServiceManager()

    /// Reports that the server accepts connections, and begins to report that its event loop runs.
    func ready(_ proxy: ProxyServer, _ address: String) {
        send(.ready("serving on \(address)"))
        guard let timeout = manager.watchdogTimeout else { return }
        // Twice within the time that the manager allows, as sd_watchdog_enabled(3) recommends.
        proxy.onLoops(every: max(timeout / 2, .milliseconds(1))) { send(.alive) }
    }

    /// Reports that the settings are being read, calls `body`, and reports its sentence.
    func reload(_ body: () -> String) -> String {
        send(.reloading(now: SystemTime().now))
        let report = body()
        send(.ready("serving; \(report)"))
        return report
    }

    func stopping() { send(.stopping) }

    private func send(_ message: ServiceManager.Message) {
        do throws(SystemError) { try manager.notify(message) } catch {
            log.log(.warning, "cannot notify the service manager: \(error)")
        }
    }
    #else
    func ready(_ proxy: ProxyServer, _ address: String) {}
    func reload(_ body: () -> String) -> String { body() }
    func stopping() {}
    #endif
}
