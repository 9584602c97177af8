#if os(Linux)
package import SpoolCore
internal import SpoolLibc
internal import SpoolSystem

/// The proxies that the environment names, read as curl reads them.
package struct EnvironmentProxy {
    /// Returns the value of a variable, or nil if it is not set.
    private let variable: (String) -> String?

    /// Creates a view of the environment.
    ///
    /// - Parameter variable: Returns the value of a variable, or nil if it is not set.
    package init(_ variable: @escaping (String) -> String? = { name in getenv(name).map { String(cString: $0) } }) {
        self.variable = variable
    }

    /// Returns whether requests to `url` go through a proxy of the process environment.
    static func isUsed(for url: MediaURL) -> Bool { EnvironmentProxy().isUsed(for: url) }

    /// Returns whether requests to `url` go through a proxy.
    package func isUsed(for url: MediaURL) -> Bool {
        // Like curl, this ignores "HTTP_PROXY": a CGI program gets that variable from the `Proxy`
        // field of the request.
        let names = url.origin.scheme == "https" ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
        guard (names + ["all_proxy", "ALL_PROXY"]).contains(where: { value(of: $0) != nil }) else { return false }
        return !isExempt(url.origin.host)
    }

    /// The variables that are set and name a proxy for some origin, in the order in which curl
    /// reads them.
    package var names: [String] {
        ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].filter { value(of: $0) != nil }
    }

    private func value(of name: String) -> String? { variable(name).flatMap { $0.isEmpty ? nil : $0 } }

    /// Returns whether `no_proxy` names a host: directly, by a domain above it, or as an
    /// address in a block.
    private func isExempt(_ host: String) -> Bool {
        guard let list = value(of: "no_proxy") ?? value(of: "NO_PROXY") else { return false }
        if list == "*" { return true }
        let entries = list.split { $0 == "," || $0 == " " || $0 == "\t" }
        if let address = SocketAddress(literal: host, port: 0) {
            return entries.contains { AddressRange(String($0))?.contains(address) == true }
        }
        let name = host.hasSuffix(".") ? host.dropLast() : Substring(host)
        return entries.contains { entry in
            var domain = entry.hasPrefix(".") ? entry.dropFirst() : entry
            if domain.hasSuffix(".") { domain = domain.dropLast() }
            guard !domain.isEmpty else { return false }
            return name.equalsIgnoringCase(domain) || name.asciiLowercased.hasSuffix("." + domain.asciiLowercased)
        }
    }
}
#endif
