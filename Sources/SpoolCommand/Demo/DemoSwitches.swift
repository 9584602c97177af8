import SpoolCore
import SpoolServer
import SpoolSystem

/// The faults of the demo's origin.
struct DemoFaults: Hashable, Sendable {
    /// Whether the origin takes no connections.
    var isStopped = false
    /// Whether the origin is slower than the music.
    var isSlow = false
    /// Whether the origin sends a page instead of music, as the sign-in of a hotel's network does.
    var isWrong = false
}

/// The switches of the demo's origin, at a port of their own: `GET /` returns them, and
/// `POST /NAME?on=1` changes one.
///
/// The demo's page asks from another port, so the answers allow that one site to read them. Other
/// sites and requests without the field of the page are refused.
final class DemoSwitches: Handler {
    private let origin: DemoOrigin
    /// The sites whose page may use the switches, in the form of `Origin`, in lower case.
    private let pages = Locked<[String]>([])

    private static let field: HTTPFields.Name = "Spool-Demo"

    init(of origin: DemoOrigin) { self.origin = origin }

    /// Lets the page of a proxy use the switches.
    func allow(page: String) { pages.withLock { $0.append(page.asciiLowercased) } }

    func respond(to request: RequestHead, on exchange: Exchange) {
        guard let page = request.fields.single(.origin).value, pages.withLock({ $0.contains(page.asciiLowercased) }) else {
            return exchange.respond(.error(403, "the switches are for the page of the demo"))
        }
        let fields: HTTPFields = [
            .accessControlAllowOrigin: page, .cacheControl: "no-store", .contentType: "application/json", .xContentTypeOptions: "nosniff",
            "Access-Control-Allow-Headers": "Spool-Demo", "Access-Control-Allow-Methods": "GET, POST", "Vary": "Origin",
        ]
        switch request.method {
        case "OPTIONS": return exchange.respond(Response(204, fields: fields))
        case "GET", "POST": break
        default: return exchange.respond(.error(405, "the switches take GET and POST", fields: fields))
        }
        guard request.has(Self.field) else { return exchange.respond(.error(403, "the switches are for the page of the demo")) }
        var faults = origin.faults
        if request.method == "POST" {
            let parts = request.path.split(separator: "?", maxSplits: 1)
            guard parts.count == 2, parts[1] == "on=1" || parts[1] == "on=0", Self.set(parts[0], parts[1] == "on=1", &faults) else {
                return exchange.respond(.error(404, "the switches are /stopped, /slow and /wrong, with ?on=1 or ?on=0", fields: fields))
            }
        }
        origin.set(faults) { [origin] in exchange.loop.post { exchange.respond(Self.response(origin.faults, fields)) } }
    }

    private static func set(_ path: Substring, _ isOn: Bool, _ faults: inout DemoFaults) -> Bool {
        switch path {
        case "/stopped": faults.isStopped = isOn
        case "/slow": faults.isSlow = isOn
        case "/wrong": faults.isWrong = isOn
        default: return false
        }
        return true
    }

    private static func response(_ faults: DemoFaults, _ fields: HTTPFields) -> Response {
        let text = "{\"stopped\":\(faults.isStopped),\"slow\":\(faults.isSlow),\"wrong\":\(faults.isWrong)}"
        return Response(200, fields: fields, body: .bytes(Array(text.utf8)))
    }
}
