import SpoolLibc

/// An nginx with its own configuration and directory.
final class Nginx: Server {
    let name: String
    let program: Program
    let port: UInt16
    let directory: String

    /// The addresses of an origin. With several, limits per host and limits of the program can be
    /// distinguished.
    static let hosts = (1...8).map { "127.0.0.\($0)" }
    private static let startSeconds = 10

    /// Starts it.
    ///
    /// - Parameters:
    ///   - address: A further address at which it listens.
    ///   - port: Its port, or nil for a free one.
    init(
        _ name: String, _ role: NginxRole, directory: String, workers: Int = 1, address: String? = nil, port: UInt16? = nil
    ) throws {
        self.name = name
        self.directory = directory
        self.port = try port ?? freePort()
        try makeDirectory(directory)
        var hosts = ["127.0.0.1"]
        switch role {
        case .files, .countedFiles, .secureFiles: hosts = Self.hosts
        case .wholeCache, .sliceCache: break
        }
        if let address { hosts.append(address) }
        let path = directory + "/nginx.conf"
        let (port, listening) = (self.port, hosts)
        try writeFile(role.configuration(directory: directory, ports: listening.map { "\($0):\(port)" }, workers: workers), to: path)
        program = try Program(
            name, [try Self.executable(), "-p", directory, "-c", path, "-e", directory + "/error.log"], logPath: directory + "/output")
        let program = self.program
        _ = try program.waitUntilReady(seconds: Self.startSeconds) { () -> Bool? in
            guard let descriptor = try? connectLoopback(port: port) else { return nil }
            close(descriptor)
            // The master listens before its worker exists, and the worker is measured.
            return ProcessUsage(of: program).processCount > workers ? true : nil
        }
    }

    func target(_ path: String, host: String) -> String {
        "/" + path
    }

    /// Returns the body bytes of the requests that ended since the last call, for the role
    /// `countedFiles`.
    ///
    /// For a broken response they include bytes that were in the kernel's buffers and never
    /// arrived.
    func takeSentBytes() throws -> Int64 {
        let path = Self.sentLog(in: directory)
        guard let text = readSmallFile(path) else { throw BenchmarkError.system("read \(path)") }
        // The file is open for appending, so nginx continues at its new end.
        guard text.utf8.count < smallFileBytes, truncate(path, 0) == 0 else {
            throw BenchmarkError("\(path) is too long, or can't be emptied")
        }
        return text.split(separator: "\n").reduce(0) { $0 + (Int64($1) ?? 0) }
    }

    static func sentLog(in directory: String) -> String { directory + "/sent.log" }

    /// Returns the path of nginx. Debian keeps it out of a plain user's PATH.
    static func executable() throws -> String {
        for directory in ["/usr/sbin", "/usr/local/sbin", "/usr/bin", "/usr/local/bin"] where access(directory + "/nginx", X_OK) == 0 {
            return directory + "/nginx"
        }
        throw BenchmarkError("nginx is missing: scripts/setup test installs it")
    }
}
