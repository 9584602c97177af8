import SpoolLibc

/// A cache other than nginx, with its own configuration and directory. A run can go on without it.
final class OtherCache: Server {
    let name: String
    let program: Program
    let port: UInt16
    let directory: String
    let isOptional = true

    private static let startSeconds = 20

    /// Starts the program, as the user `nobody` if this user may do so.
    init(_ kind: OtherCacheKind, origin: UInt16, directory: String) throws {
        self.directory = directory
        name = kind.rawValue
        port = try freePort()
        try makeDirectory(directory)
        let configuration = directory + "/configuration"
        if let text = kind.configuration(directory: directory, port: port, origin: origin) { try writeFile(text, to: configuration) }
        try Program.giveToNobody(directory)
        let words = kind.words(configuration: configuration, directory: directory, port: port, origin: origin)
        program = try Program(name, [try kind.executable()] + words, logPath: directory + "/output", isNobody: true)
        let (program, port) = (self.program, self.port)
        _ = try program.waitUntilReady(seconds: Self.startSeconds) { () -> Bool? in
            guard let descriptor = try? connectLoopback(port: port) else { return nil }
            close(descriptor)
            // Varnish listens before its worker process exists.
            return kind != .varnish || ProcessUsage(of: program).processCount > 1 ? true : nil
        }
    }

    func target(_ path: String, host: String) -> String {
        "/" + path
    }
}

/// Debian's caches that are measured as peers if they are installed.
enum OtherCacheKind: String, CaseIterable {
    case varnish, squid, rclone
}

extension OtherCacheKind {
    /// Returns the path of the program. Debian keeps daemons out of a plain user's PATH.
    func executable() throws -> String {
        let program = self == .varnish ? "varnishd" : rawValue
        for directory in ["/usr/sbin", "/usr/local/sbin", "/usr/bin", "/usr/local/bin"] where access("\(directory)/\(program)", X_OK) == 0 {
            return "\(directory)/\(program)"
        }
        throw BenchmarkError("\(program) is not installed: scripts/setup bench installs it")
    }

    /// The argument that prints the program's version.
    var versionWord: String {
        switch self {
        case .varnish: "-V"
        case .squid: "-v"
        case .rclone: "version"
        }
    }

    /// Returns the command line.
    func words(configuration: String, directory: String, port: UInt16, origin: UInt16) -> [String] {
        switch self {
        case .varnish:
            // In the foreground, without jail and management port. A thread for each connection,
            // from one pool. 2 GiB of its own memory: it holds a body once, and a second copy would
            // not fit.
            [
                "-F", "-j", "none", "-T", "none", "-f", configuration, "-a", "127.0.0.1:\(port)", "-n", directory + "/work",
                "-s", "malloc,2g", "-p", "thread_pools=1", "-p", "thread_pool_min=100", "-p", "thread_pool_max=1000",
            ]
        case .squid:
            // One process in the foreground.
            ["-N", "-f", configuration]
        case .rclone:
            // Whole or partial files under `--cache-dir`. As many threads as there are cores, which
            // is Go's default.
            [
                "serve", "http", "--config", "", "--addr", "127.0.0.1:\(port)", "--read-only", "--vfs-cache-mode", "full",
                "--cache-dir", directory + "/cache", "--vfs-cache-max-age", "24h", "--dir-cache-time", "24h",
                "--http-url", "http://127.0.0.1:\(origin)/", ":http:",
            ]
        }
    }

    /// Returns the text of its configuration file, or nil for a program without one.
    func configuration(directory: String, port: UInt16, origin: UInt16) -> String? {
        switch self {
        case .varnish: Self.varnish(origin)
        case .squid: Self.squid(directory, port, origin)
        case .rclone: nil
        }
    }

    private static func varnish(_ origin: UInt16) -> String {
        """
        vcl 4.1;
        backend origin { .host = "127.0.0.1"; .port = "\(origin)"; }
        sub vcl_recv { return (hash); }
        sub vcl_backend_response { set beresp.ttl = 24h; }

        """
    }

    /// A reverse proxy before one origin, with everything in memory, because a GiB takes four times
    /// as long from its disk caches. `range_offset_limit none` fetches the whole resource for a
    /// range. Otherwise ranges are passed on and not stored.
    private static func squid(_ directory: String, _ port: UInt16, _ origin: UInt16) -> String {
        """
        http_port 127.0.0.1:\(port) accel defaultsite=127.0.0.1 no-vhost
        cache_peer 127.0.0.1 parent \(origin) 0 no-query no-digest originserver name=origin
        acl harness src 127.0.0.1
        http_access allow harness
        cache_peer_access origin allow harness
        never_direct allow harness
        workers 1
        cache_mem 1536 MB
        maximum_object_size 1200 MB
        maximum_object_size_in_memory 1200 MB
        memory_cache_shared off
        range_offset_limit none
        quick_abort_min -1 KB
        refresh_pattern . 1440 100% 1440
        access_log none
        cache_store_log none
        cache_log \(directory)/cache.log
        pid_filename \(directory)/pid
        coredump_dir \(directory)
        logfile_rotate 0
        netdb_filename none
        pinger_enable off
        icp_port 0
        visible_hostname localhost
        shutdown_lifetime 1 second

        """
    }
}
