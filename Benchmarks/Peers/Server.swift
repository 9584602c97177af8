import SpoolLibc

/// A program that answers GETs of an origin's resources: the one under test, or a peer.
protocol Server: AnyObject {
    /// The name in the table.
    var name: String { get }
    var program: Program { get }
    var port: UInt16 { get }
    /// The directory of all files of this server.
    var directory: String { get }
    /// Returns the request target of a path at the origin. `host` is one of the origin's addresses.
    func target(_ path: String, host: String) -> String
    /// Whether a run can go on without it. It is then also measured in fewer rounds, see
    /// `Workbench.alternate`.
    var isOptional: Bool { get }
}

extension Server {
    var isOptional: Bool { false }

    /// Returns the request target of a path at the origin's first address.
    func target(_ path: String) -> String {
        target(path, host: "127.0.0.1")
    }

    /// The CPU time and memory of the program and its descendants.
    var usage: ProcessUsage { ProcessUsage(of: program) }

    /// - Parameter seconds: The time after which the program is killed.
    func stop(seconds: Int = 10) {
        program.stop(seconds: seconds)
    }

    /// Ends the program and frees the room of its files.
    func discard() {
        stop()
        emptyTree(directory)
    }
}

/// Returns a port that is free at this moment on every loopback address.
func freePort() throws -> UInt16 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw BenchmarkError.system("socket") }
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) == 0 ? getsockname(descriptor, $0, &size) : -1 }
    }
    guard code == 0 else { throw BenchmarkError.system("find a free port") }
    return UInt16(bigEndian: address.sin_port)
}
