import SpoolCore
import SpoolDashboard
import SpoolJSON
import SpoolLibc
import SpoolSystem

/// The server that has the store of a command: its address, and the token for commands.
///
/// `spool serve` writes both to `serve.json` beside the index, readable by its owner only, and
/// removes the file when it ends. The file of a killed server has no effect: the store's lock is
/// free then, and commands open the store themselves.
struct RunningServer {
    /// The address of the proxy, with a slash at its end.
    let address: String
    let token: String
    /// The id of its process, if `serve.json` contains it.
    var process: Int64?

    /// The URL of the status page, if it is not at `_spool/` below the address.
    var page: String?

    /// The usual URL of the status page of a server.
    static func page(at address: String) -> String { address + ProxiedPath.ownPrefix }

    private static func path(in directory: String) -> String { directory + "/serve.json" }
    /// The longest file that is read, in bytes.
    private static let limitBytes = 4096

    // MARK: The file

    /// Writes `serve.json` for commands on the same store.
    func announce(in directory: String) throws(SystemError) {
        let system = POSIXFileSystem()
        // Written to a draft and renamed, so that a reader finds the whole file or none.
        let draft = Self.path(in: directory) + ".new"
        do throws(SystemError) { try write(to: draft, system) } catch {
            // A server that was killed may have left its own files, which are outdated.
            for path in [Self.path(in: directory), draft] { try system.unlinkIfPresent(path) }
            throw error
        }
        try system.rename(draft, to: Self.path(in: directory))
    }

    private func write(to draft: String, _ system: POSIXFileSystem) throws(SystemError) {
        let file = try system.createPrivate(draft)
        let members: [(String, JSON)] = [
            ("address", .string(address)), ("token", .string(token)), ("process", .integer(Int64(ProcessIdentity.processID))),
        ]
        try file.write(Array((JSON.object(members + (page.map { [("page", .string($0))] } ?? [])).text + "\n").utf8), at: 0)
    }

    /// Whether other users of the machine can create files in a directory, and so replace those
    /// that a server keeps there.
    static func isOpenToOthers(_ directory: String) -> Bool {
        var status = stat()
        // The opening of the directory reports such an error.
        guard stat(directory, &status) == 0 else { return false }
        return UInt32(status.st_mode) & 0o022 != 0
    }

    /// Removes `serve.json`.
    static func retract(in directory: String) throws(SystemError) {
        try POSIXFileSystem().unlinkIfPresent(path(in: directory))
    }

    /// Returns the server that `serve.json` names, or nil.
    static func announced(in directory: String) -> RunningServer? {
        // An unreadable file counts as no server. The command then opens the store itself, and
        // reports the errors that it finds there.
        guard let text = try? POSIXFileSystem().contents(of: path(in: directory), limit: limitBytes), let json = try? JSON(text),
            let address = json["address"]?.string, let token = json["token"]?.string
        else { return nil }
        return RunningServer(
            address: address, token: token, process: json["process"]?.integer, page: json["page"]?.string)
    }

    /// Returns the server that `serve.json` names, for a command that needs one.
    static func required(in directory: String) throws(Failure) -> RunningServer {
        if let server = announced(in: directory) { return server }
        throw Failure("no server has the store at \(directory); start 'spool serve', or name its store with --cache")
    }

    /// The address without the path, which may begin with the players' token. It is safe for a log.
    var publicAddress: String {
        guard let origin = try? URIReference(address).origin else { return address }
        return "\(origin)/"
    }

    /// Returns the URL by which the server fetches and stores a resource, and sends it as its
    /// origin does. A server of one site does so for programs, too.
    func proxied(_ url: MediaURL) -> String {
        "\(address)\(ProxiedPath.ownPrefix)\(ProxiedPath.programPrefix)\(token)/\(ProxiedPath.query(url))"
    }

    // MARK: Commands

    /// Removes a resource from the store, with its own parts if it is a manifest.
    func remove(_ key: ResourceKey) throws -> RemovalCounts { try counts(of: "remove", ["key": key.string]) }

    /// Removes all resources except downloads and pins, or everything.
    func removeAll(erasing isErasing: Bool) throws -> RemovalCounts { try counts(of: isErasing ? "erase-everything" : "clear") }

    /// Pins or unpins a key, with the parts of the presentation if it is a manifest.
    ///
    /// - Returns: Whether one of the pins changed.
    func setPinned(_ key: ResourceKey, _ isPinned: Bool) throws -> Bool {
        try changed(isPinned ? "pin" : "unpin", ["key": key.string])
    }

    /// Returns the reason why the server does not store a resource. Returns nil when it stores the
    /// resource, or was not asked for it.
    func notStoredBecause(_ key: ResourceKey) throws -> String? {
        let reason = try post("not-stored", ["key": key.string]).required("because", \.string, of: self)
        return reason.isEmpty ? nil : reason
    }

    /// Returns the server's advice about its settings, or nil.
    func advice() throws -> String? {
        let advice = try post("advice").required("advice", \.string, of: self)
        return advice.isEmpty ? nil : advice
    }

    /// Makes the server read its settings and the limits of the store again, and returns what came of
    /// it.
    func reload() throws -> String { try post("reload").required("report", \.string, of: self) }

    /// Makes the server enter recently received bytes into the index, for the next reader of the
    /// index.
    func enterReceived() throws { _ = try post("enter-received") }

    /// Returns a link to the status page that logs one browser in.
    func loginLink() throws -> String {
        let secret = try post("login").required("link", \.string, of: self)
        // A browser sends no fragment to a server, so no log contains it.
        return "\(page ?? Self.page(at: address))#login=\(secret)"
    }

    var incomprehensible: Failure {
        Failure("the server at \(publicAddress) answers what this program does not understand; use the same version of both", .inputOutput)
    }

    /// Returns the state of the server as JSON (docs/json.md).
    func status() throws -> String {
        let page = page ?? Self.page(at: address)
        guard let path = (try? URIReference(page))?.path else { throw Failure("serve.json names no page: \(page)", .inputOutput) }
        return try ask("GET \(path)api/status", fields: [])
    }

    private func counts(of verb: String, _ words: [String: String] = [:]) throws -> RemovalCounts {
        guard let counts = RemovalCounts(try post(verb, words)) else { throw incomprehensible }
        return counts
    }

    /// Sends a command, and returns whether it changed something.
    func changed(_ verb: String, _ words: [String: String]) throws -> Bool {
        guard let changed = try post(verb, words)["changed"] else { throw incomprehensible }
        return changed.isTrue
    }

    /// Sends one command and returns the answer. Throws the server's reason when it refuses.
    ///
    /// - Parameter words: The parameters of the command by their names.
    func post(_ verb: String, _ words: [String: String] = [:]) throws -> JSON {
        let query = words.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.percentEncoded)" }.joined(separator: "&")
        let command = query.isEmpty ? verb : "\(verb)?\(query)"
        guard let path = (try? URIReference(address))?.path else { throw Failure("serve.json names no address: \(address)", .inputOutput) }
        let body = try ask(
            "POST \(path)\(ProxiedPath.ownPrefix)api/\(command)", fields: ["Authorization: Bearer \(token)", "Content-Length: 0"])
        guard let answer = JSON(text: body) else { throw incomprehensible }
        return answer
    }

    /// Sends a request and returns the body of the answer.
    ///
    /// - Parameter line: The method and the target.
    private func ask(_ line: String, fields: [String]) throws -> String {
        guard let url = try? URIReference(address), let origin = url.origin, let port = UInt16(exactly: origin.port) else {
            throw Failure("serve.json names no address: \(address)", .inputOutput)
        }
        let head = ["\(line) HTTP/1.1", "Host: \(origin.authority)"] + fields + ["Connection: close"]
        let answer: String
        do throws(SystemError) {
            answer = try LoopbackHTTPClient.perform(head.joined(separator: "\r\n") + "\r\n\r\n", host: origin.host, port: port)
        } catch {
            throw Failure("the server at \(publicAddress) has the store and does not answer: \(error)", .inputOutput)
        }
        let status = answer.split(separator: " ", maxSplits: 2).dropFirst().first.flatMap { Int($0) } ?? 0
        let body = answer.firstRange(of: "\r\n\r\n").map { String(answer[$0.upperBound...]) } ?? ""
        guard status == 200 else {
            let why = JSON(text: body)?["error"]?.string ?? Self.reason(inPlainText: body) ?? "\(status)"
            if status == 409 { throw CacheError(.exists, why) }
            throw Failure("the server at \(publicAddress) refuses: \(why)", .inputOutput)
        }
        return body
    }

    /// Returns the reason in a refusal of the proxy itself, which is `502 Bad Gateway: reason`. The
    /// status does not help a person.
    private static func reason(inPlainText body: String) -> String? {
        guard let line = body.split(separator: "\n").first else { return nil }
        return line.firstRange(of: ": ").map { String(line[$0.upperBound...]) } ?? String(line)
    }
}

extension JSON {
    /// Returns a member in one form. A member that is missing or has another form belongs to an answer
    /// of another version.
    func required<Value>(_ name: String, _ form: KeyPath<JSON, Value?>, of server: RunningServer) throws -> Value {
        guard let value = self[name]?[keyPath: form] else { throw server.incomprehensible }
        return value
    }
}
