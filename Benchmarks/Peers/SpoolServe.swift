/// `spool serve` on a cache directory.
final class SpoolServe: Server {
    let name = "spool"
    let program: Program
    let port: UInt16
    let directory: String
    private let origin: UInt16

    private static let startSeconds = 10

    /// Starts the program; a cache in `directory` that has something in it is served as it is.
    init(executable: String, directory: String, origin: UInt16) throws {
        self.origin = origin
        self.directory = directory
        try makeDirectory(directory)
        program = try Program(
            name, [executable, "serve", "--listen", "127.0.0.1:0", "--cache", directory + "/cache"], logPath: directory + "/log")
        let program = program
        let before = program.log.count
        port = try program.waitUntilReady(seconds: Self.startSeconds) {
            Self.port(in: program.log.dropFirst(before))
        }
    }

    func target(_ path: String, host: String) -> String {
        "/http/\(host):\(origin)/\(path)"
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
