#if !os(watchOS)
import Dispatch
package import Foundation
import Spool
import SpoolOrigin
import SpoolProxy
import SpoolSystem

/// The rules for a player's requests to the proxy of this process.
///
/// App Transport Security refuses plain HTTP to an IP address from iOS 17 and macOS 14 on, unless
/// the app's Info.plist permits it. A name without a dot, such as `localhost`, needs no permission.
/// But a proxy or a filter of the system may take that name, so a request proves the way first.
package struct LoopbackRules: Sendable {
    /// Asks a URL, and reports whether the body of the answer is `word`. May report on any thread.
    package typealias Check = @Sendable (_ url: URL, _ word: String, _ report: @escaping @Sendable (Bool) -> Void) -> Void

    /// The longest time for which the creation of an asset waits for a check.
    package static let checkTime = DispatchTimeInterval.milliseconds(250)

    /// The host on which the cache's own proxy listens.
    package var host: String
    /// Whether IP addresses of loopback need no check: the app's Info.plist permits them, or the
    /// system has no such rule.
    package var permitsAddresses: Bool
    /// The check of a way that is not permitted by itself.
    package var check: Check
    /// Returns a number that changes with the network. A check holds as long as it stays.
    package var network: @Sendable () -> Int = { 0 }

    /// Creates rules.
    package init(host: String, permitsAddresses: Bool, check: @escaping Check) {
        self.host = host
        self.permitsAddresses = permitsAddresses
        self.check = check
    }

    /// The rules of this app.
    package static let ofApp: LoopbackRules = {
        #if canImport(Darwin)
        var rules = LoopbackRules(
            host: "localhost", permitsAddresses: TransportSecurity.ofApp.permitsLoopback, check: LoopbackCheck.run)
        let (monitor, reports) = (Configuration.Network.systemMonitor, Locked(0))
        monitor?.start { _ in reports.withLock { $0 += 1 } }
        rules.network = { withExtendedLifetime(monitor) { reports.withLock { $0 } } }
        return rules
        #else
        return LoopbackRules(host: "127.0.0.1", permitsAddresses: true) { _, _, report in report(false) }
        #endif
    }()

    /// Returns the host by which players reach a proxy, or nil when they do not.
    ///
    /// Waits for a check, at most `checkTime` for each of the two hosts.
    func host(of server: ProxyServer) -> String? {
        server.hosts.first { host in
            // A literal of IPv6 has colons, and one of IPv4 has digits and dots only.
            let isAddress = host.contains(":") || host.allSatisfy { $0.isNumber || $0 == "." }
            return isAddress && permitsAddresses ? true : isReached(server, host)
        }
    }

    private func isReached(_ server: ProxyServer, _ host: String) -> Bool {
        // A proxy without random paths is the app's own, and so is the decision about its address.
        guard let echo = server.echo() else { return true }
        guard let url = echo.url(host: host).flatMap({ URL(string: $0) }) else { return false }
        let answer = LoopbackAnswer()
        check(url, echo.word, answer.report)
        return answer.wait(Self.checkTime)
    }
}

/// The result of a check, for a thread that waits for it.
private final class LoopbackAnswer: @unchecked Sendable {
    // Safe to share: `isReached` is written before the semaphore is signalled, and read after that.
    private let semaphore = DispatchSemaphore(value: 0)
    private var isReached = false

    func report(_ isReached: Bool) {
        self.isReached = isReached
        semaphore.signal()
    }

    func wait(_ time: DispatchTimeInterval) -> Bool { semaphore.wait(timeout: .now() + time) == .success && isReached }
}

#if canImport(Darwin)
/// Asks a path of the proxy by `URLSession`. App Transport Security, proxies and filters of the
/// system apply to it as to a player.
private enum LoopbackCheck {
    /// The most bytes of an answer that are compared.
    private static let maxBytes = 128

    static func run(_ url: URL, _ word: String, _ report: @escaping @Sendable (Bool) -> Void) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 1
        configuration.timeoutIntervalForResource = 1
        let session = URLSession(configuration: configuration, delegate: nil, delegateQueue: nil)
        let task = session.dataTask(with: URLRequest(url: url)) { data, _, _ in
            report(data.map { $0.count <= maxBytes && String(decoding: $0, as: UTF8.self) == word } ?? false)
        }
        task.resume()
        session.finishTasksAndInvalidate()
    }
}
#endif
#endif
