import SpoolCore
import SpoolLibc

/// The networks of this machine: its own addresses, and the IPv6 networks in which it has one.
///
/// No list of addresses is read or kept. The system chooses the address from which it would send to
/// a destination. For an address of this machine that is the address itself, and for one in an IPv6
/// network of this machine it is an address in the same network. So the answer is current, and it
/// costs four short system calls. It also works where a sandbox forbids to list the addresses.
package final class OwnNetworks: Sendable {
    /// Returns the address from which the system would send to an address, or nil without a way.
    package typealias Source = @Sendable (SocketAddress) throws(SystemError) -> SocketAddress?

    private let source: Source
    private let report: @Sendable (SystemError) -> Void
    private let hasReported = Locked(false)

    /// Creates the networks.
    ///
    /// - Parameter report: Called with the first error of the system, and not again.
    package init(
        source: @escaping Source = { address throws(SystemError) in try Socket.source(towards: address) },
        report: @escaping @Sendable (SystemError) -> Void
    ) {
        self.source = source
        self.report = report
    }

    /// Returns whether an address is this machine's own, or in the same IPv6 network as one of its
    /// addresses (the first 64 bits, RFC 4291 §2.5.4).
    ///
    /// After an error of the system the result is false. An error must not decide about trust: if
    /// it meant an own network, every public origin would be refused. The range of an address does
    /// not depend on this result, so private addresses stay private. The error costs only the
    /// check of this machine's own public addresses. That is why it is reported.
    package func contains(_ address: SocketAddress) -> Bool {
        do throws(SystemError) {
            guard let from = try source(address) else { return false }
            return from.networkBytes == address.networkBytes
        } catch {
            let isFirst = hasReported.withLock { !exchange(&$0, with: true) }
            if isFirst { report(error) }
            return false
        }
    }
}

extension Socket {
    /// Returns the address from which the system would send to `address`, or nil when no route
    /// leads there. Sends nothing: for a datagram socket, connect(2) only looks up the route.
    package static func source(towards address: SocketAddress) throws(SystemError) -> SocketAddress? {
        let family = address.family == .ipv4 ? AF_INET : AF_INET6
        let number: Int32
        switch attemptSystemCall({ socket(family, datagramKind, 0) }) {
        case .success(let made): number = made
        // The machine has no network of this family.
        case .failure(EAFNOSUPPORT): return nil
        case .failure(let code): throw SystemError(code: code, operation: "socket", subject: address.host)
        }
        let probe = Socket(owning: number)
        var target = address
        // Some systems refuse port 0. This one is for datagrams that are dropped (RFC 863).
        target.port = 9
        switch attemptSystemCall({ target.withSystemAddress { connect(number, $0, $1) } }) {
        case .success: return probe.localAddress
        case .failure(ENETUNREACH), .failure(EHOSTUNREACH), .failure(EADDRNOTAVAIL), .failure(ENETDOWN): return nil
        case .failure(let code): throw SystemError(code: code, operation: "connect", subject: address.host)
        }
    }
}
