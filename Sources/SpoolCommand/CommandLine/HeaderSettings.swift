import Spool
import SpoolCore
import SpoolSystem

/// Fields for requests to origins, on behalf of players that cannot send them: the flags of
/// commands that fetch.
struct HeaderSettings {
    static let header = Flag(
        "header", takes: "'NAME: VALUE'",
        help: "A field for every origin, such as 'User-Agent: MyTV'; may be repeated. '@FILE' is a file of such lines, which only you may"
            + " read. On a redirect to another origin, fields with credentials are dropped."
    ).repeatable
    static let headerFor = Flag(
        "header-for", takes: "ORIGIN", second: "'NAME: VALUE'",
        help: "The same for one origin such as https://media.example.com:8443, also when another origin redirects to it; may be repeated."
            + " A host alone means https."
    ).repeatable
    static let cookies = Flag(
        "cookies", takes: "FILE",
        help:
            "Cookies for origins, in the format of Netscape's cookies.txt, as curl and yt-dlp write it. A domain means https; an origin"
            + " such as http://nas.local:8096 in its place means that origin. Responses that need them are stored for all users"
            + " of the cache.")

    static let all = [header, headerFor, cookies]

    /// The largest size of a cookie file, in bytes. A browser's whole jar has about 1 MiB.
    private static let cookieFileBytes = 4 << 20

    /// The fields for every origin.
    private(set) var everywhere = HTTPFields()
    private var byOrigin: [URIReference.Origin: HTTPFields] = [:]
    /// The origins in clear of hosts that were given without a scheme. Their fields stay here.
    private var inClear: Set<URIReference.Origin> = []
    private var jar = CookieJar()

    /// Whether no field and no cookie is given.
    var isEmpty: Bool { everywhere.lines.isEmpty && byOrigin.isEmpty && jar.cookies.isEmpty }

    init(_ arguments: Arguments) throws(UsageError) {
        for text in arguments.all(Self.header) {
            everywhere.lines += try Self.fields(text, Self.header, arguments)
        }
        let words = arguments.all(Self.headerFor)
        for index in stride(from: 0, to: words.count - 1, by: 2) {
            guard let origin = Self.origin(words[index]) else {
                throw arguments.invalid(
                    Self.headerFor,
                    "can't be '\(words[index])'; it is an origin such as https://media.example.com, or a host, which means https")
            }
            if !words[index].contains("://"), let clear = Self.origin("http://\(words[index])") { inClear.insert(clear) }
            byOrigin[origin, default: HTTPFields()].lines += try Self.fields(words[index + 1], Self.headerFor, arguments)
        }
        if let path = arguments[Self.cookies] { jar = try Self.jar(path, arguments) }
    }

    /// Sets the fields in a configuration. A later call replaces them.
    ///
    /// - Parameter log: Gets one warning when a host that was given without a scheme is asked in
    ///   clear, because its fields do not go there.
    func apply(to configuration: inout Configuration, _ log: StandardErrorLog? = nil) {
        configuration.network.requestFields = everywhere
        guard !byOrigin.isEmpty || !jar.cookies.isEmpty else { return }
        let byOrigin = byOrigin, jar = jar, untold = Locked(inClear.subtracting(byOrigin.keys))
        configuration.network.requestFieldsForURL = { url in
            var fields = HTTPFields()
            // The transport refuses a URL that cannot be parsed.
            if let origin = try? URIReference(lenient: url).origin {
                if let own = byOrigin[origin] { fields = own }
                if let log, untold.withLock({ $0.remove(origin) }) != nil {
                    log.log(
                        .warning,
                        "\(Self.headerFor.spelling) \(origin.authority) means https, so its fields do not go to \(origin);"
                            + " if they may go out in clear, give \(Self.headerFor.spelling) \(origin)")
                }
            }
            guard let cookies = jar.field(for: url, now: SystemTime().wallNow) else { return fields }
            // The user gave both, so one `Cookie` field carries all (RFC 6265 §5.4).
            fields[.cookie] = fields[.cookie].map { "\($0); \(cookies)" } ?? cookies
            return fields
        }
    }

    /// Reads an origin, or a host with or without a port, which means `https`: credentials do not
    /// go out in clear unless the user says so.
    private static func origin(_ text: String) -> URIReference.Origin? {
        let url = text.contains("://") ? text : "https://\(text)"
        guard let reference = try? URIReference(url), let origin = reference.origin, ["http", "https"].contains(origin.scheme) else {
            return nil
        }
        let isOriginAlone = (reference.path.isEmpty || reference.path == "/") && reference.query == nil && !url.contains("@")
        return isOriginAlone && !text.contains(" ") && !origin.host.isEmpty ? origin : nil
    }

    // MARK: Reading

    /// Fields that the cache sets itself. A given field of the same name would contradict it.
    private static let ownFields: Set<String> = [
        "range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "accept-encoding", "host",
        "connection",
        "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "content-length", "expect", "via",
        "icy-metadata",
    ]

    private static func fields(_ text: String, _ flag: Flag, _ arguments: Arguments) throws(UsageError) -> [HTTPFields.Field] {
        guard text.hasPrefix("@") else { return [try field(text, shown: text, flag, arguments)] }
        let path = String(text.dropFirst())
        let lines = try arguments.text(of: path, flag, holding: "fields of requests").split(whereSeparator: \.isNewline)
        // A message must not show a line of a secret file.
        return try lines.filter { !$0.hasPrefix("#") }.map { line throws(UsageError) in
            try field(String(line), shown: "a line of \(path)", flag, arguments)
        }
    }

    private static func field(
        _ text: String, shown: String, _ flag: Flag, _ arguments: Arguments
    ) throws(UsageError) -> HTTPFields.Field {
        guard let field = HTTPFields.Field(line: text) else {
            throw arguments.invalid(flag, "can't be '\(shown)'; it is 'NAME: VALUE' without control characters")
        }
        guard !ownFields.contains(field.name.asciiLowercased) else {
            throw arguments.invalid(flag, "can't set \(field.name), which the cache decides itself")
        }
        return field
    }

    private static func jar(_ path: String, _ arguments: Arguments) throws(UsageError) -> CookieJar {
        // Not refused when others may read it, because the programs that write such files leave them
        // readable.
        let text = try arguments.text(of: path, cookies, holding: "cookies", limitBytes: cookieFileBytes, mustBePrivate: false)
        do throws(ParseError) {
            return try CookieJar(netscape: text)
        } catch {
            throw arguments.invalid(cookies, "names \(path), which has not \(error.expected)")
        }
    }
}
