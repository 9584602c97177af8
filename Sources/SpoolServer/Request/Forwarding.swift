import SpoolCore
package import SpoolSystem

/// The statement of a proxy before the server about a request: its client, and the place where the
/// client asks.
///
/// Anybody can write the fields. They are believed from the proxies that the options name only. Of
/// any other peer, they show only that the request is not its own.
package final class Forwarding: Sendable {
    /// The client's address, or nil when no believed field has one.
    package let client: SocketAddress?
    /// `http` or `https`, or nil when no believed field has it.
    package let scheme: String?
    /// The authority by which the client calls the proxy, or nil when no believed field has one.
    package let authority: String?
    /// Whether a proxy that the options name passed the request on.
    package let isBelieved: Bool

    /// The name that counts requests of the client. Clients without an address share one.
    var name: [UInt8] { client?.networkBytes ?? [] }

    /// Reads the fields of a request.
    ///
    /// - Parameter fronts: The proxies before the server if the peer is one of them, else nil.
    /// - Returns: Nil for a request that no proxy passed on.
    init?(_ head: RequestHead, from fronts: FrontProxies?) {
        guard head.has(.xForwardedFor) || head.has(.forwarded) || head.has(.xRealIP) else { return nil }
        guard let fronts else {
            (client, scheme, authority, isBelieved) = (nil, nil, nil, false)
            return
        }
        // A proxy that names its client in another field is not configured for this. Its requests
        // come from strangers without an address.
        let fields = head.fields
        let clients = fields.values(of: .xForwardedFor).flatMap { $0.split(separator: ",") }.map { String($0.withoutBlanks) }
        // A client that came past the outer proxies has fewer entries.
        client = clients.suffix(fronts.hops).first.flatMap(Self.address)
        let last = { (name: HTTPFields.Name) -> String? in
            let text = fields.values(of: name).last.flatMap { $0.split(separator: ",").last }?.withoutBlanks ?? ""
            return text.isEmpty ? nil : String(text)
        }
        scheme = last(.xForwardedProto).flatMap { text in ["http", "https"].first { text.equalsIgnoringCase($0) } }
        authority = last(.xForwardedHost)
        isBelieved = true
    }

    /// Reads an address, with or without a port.
    private static func address(_ text: String) -> SocketAddress? {
        if let address = SocketAddress(literal: text, port: 0) { return address.unmapped }
        guard let colon = text.lastIndex(of: ":") else { return nil }
        return SocketAddress(literal: String(text[..<colon]), port: 0)?.unmapped
    }
}
