import SpoolLibc

/// `spool serve` on a cache directory.
final class SpoolServe: Server {
    let name: String
    let program: Program
    let port: UInt16
    let directory: String
    private let origin: UInt16
    private let authority: CertificateAuthority?

    private static let startSeconds = 10

    /// Starts the program. A cache in `directory` that has contents is served as it is.
    ///
    /// - Parameters:
    ///   - authority: The authority of the origin's certificate. With it, origin requests use
    ///     HTTP/2 over TLS.
    ///   - flags: Further arguments.
    ///   - name: The name in the table.
    init(
        executable: String, directory: String, origin: UInt16, authority: CertificateAuthority? = nil, flags: [String] = [],
        name: String = "spool"
    ) throws {
        self.name = name
        self.origin = origin
        self.authority = authority
        self.directory = directory
        try makeDirectory(directory)
        let options = (authority.map { ["--http2", "--ca-file", $0.certificate] } ?? []) + flags
        program = try Program(
            name, [executable, "serve", "--listen", "127.0.0.1:0", "--cache", directory + "/cache"] + options, logPath: directory + "/log")
        let program = program
        let before = program.log.count
        port = try program.waitUntilReady(seconds: Self.startSeconds) {
            Self.port(in: program.log.dropFirst(before))
        }
    }

    func target(_ path: String, host: String) -> String {
        "/\(authority == nil ? "http" : "https")/\(host):\(origin)/\(path)"
    }

    /// Returns the number of body bytes from its transport since the program's start, by its own
    /// count.
    func fetchedBytes() throws -> Int64 {
        let answer = try exchange("GET /_spool/api/resources HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n\r\n", port: port)
        let field = "\"fetchedBytes\":"
        guard let start = answer.firstRange(of: field)?.upperBound, let bytes = Int64(answer[start...].prefix { $0.isNumber })
        else { throw BenchmarkError("no \(field) in the answer of \(name): \(answer.prefix(200))") }
        return bytes
    }

    /// The port in "listening on http://127.0.0.1:PORT/".
    private static func port(in log: Substring) -> UInt16? {
        for line in log.split(separator: "\n") {
            guard line.hasPrefix("listening on http://"), line.hasSuffix("/"), let colon = line.lastIndex(of: ":") else { continue }
            return UInt16(line[line.index(after: colon)...].dropLast())
        }
        return nil
    }
}
