#if os(Linux)
import Foundation
import SpoolLibc
import SpoolSystem
import Testing

/// `spool serve` below a service manager: readiness, signs of life, an inherited listener, and
/// SIGHUP.
@Suite(.timeLimit(.minutes(20)))
struct ServiceTests {
    /// The socket of a service manager, at which the messages of a process arrive.
    private final class Manager {
        let path: String
        private let descriptor: Int32

        init(_ directory: ScratchDirectory) throws {
            // A path of a socket has at most 107 bytes, so it is not in the scratch directory.
            path = "/tmp/spool-\(UUID().uuidString.prefix(8))"
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let result = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            try #require(result == 0)
            // For a server that ends without a message. It makes the test fail in place of a hang.
            var limit = timeval(tv_sec: 120, tv_usec: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        }

        deinit {
            close(descriptor)
            unlink(path)
        }

        /// Waits for the next message that begins with `prefix`, and returns it.
        func message(_ prefix: String) -> String {
            while true {
                var bytes = [UInt8](repeating: 0, count: 4096)
                let count = recv(descriptor, &bytes, bytes.count, 0)
                let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
                if count <= 0 || text.hasPrefix(prefix) { return text }
            }
        }
    }

    private let directory = Result { try ScratchDirectory() }

    @Test func `a server reports that it is ready, that it lives, and that it stops`() throws {
        let directory = try directory.get()
        let manager = try Manager(directory)
        let server = try SpoolProcess(
            ["serve", "--listen", "127.0.0.1:0", "--cache", directory.path("store")],
            environment: ["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "200000"], in: directory)
        let line = try #require(server.readLine())
        #expect(manager.message("READY=1").contains(line.dropFirst("listening on ".count)))
        #expect(manager.message("WATCHDOG=1") == "WATCHDOG=1")
        #expect(manager.message("WATCHDOG=1") == "WATCHDOG=1", "again and again")
        server.send(SIGTERM)
        #expect(manager.message("STOPPING=1") == "STOPPING=1")
        #expect(try server.end().code == 0)
    }

    @Test func `SIGHUP reads the settings again, and an invalid file changes nothing`() throws {
        let directory = try directory.get()
        let manager = try Manager(directory)
        let file = directory.path("spool.conf")
        try "log-level = warning\n".write(toFile: file, atomically: true, encoding: .utf8)
        let server = try SpoolProcess(
            ["serve", "--listen", "127.0.0.1:0", "--cache", directory.path("store"), "--config", file],
            environment: ["NOTIFY_SOCKET": manager.path], in: directory)
        _ = manager.message("READY=1")
        try "log-level = notice\nquota = 3G\n".write(toFile: file, atomically: true, encoding: .utf8)
        server.send(SIGHUP)
        #expect(manager.message("RELOADING=1").contains("MONOTONIC_USEC="))
        #expect(manager.message("READY=1").contains("read again"))
        try "quota = much\n".write(toFile: file, atomically: true, encoding: .utf8)
        server.send(SIGHUP)
        #expect(manager.message("READY=1").contains("spool.conf:1: 'quota'"))
        server.send(SIGTERM)
        let outcome = try server.end()
        #expect(outcome.code == 0)
        #expect(outcome.errors.contains("the log level is notice, quota 3G, max-age none,"), "\(outcome.errors)")
        #expect(outcome.errors.contains("; nothing else differs"), "\(outcome.errors)")
        #expect(outcome.errors.contains("the settings stay as they are"))
    }

    @Test func `SIGHUP changes the limits of the running server, and names what needs a restart`() throws {
        let directory = try directory.get()
        let manager = try Manager(directory)
        let file = directory.path("spool.conf")
        try "log-level = notice\nquota = 3G\n".write(toFile: file, atomically: true, encoding: .utf8)
        let server = try SpoolProcess(
            ["serve", "--listen", "127.0.0.1:0", "--cache", directory.path("store"), "--config", file],
            environment: ["NOTIFY_SOCKET": manager.path], in: directory)
        let address = try #require(server.readLine()).dropFirst("listening on ".count)
        _ = manager.message("READY=1")
        func store() throws -> [String: Any] {
            let data = try Data(contentsOf: #require(URL(string: address + "_spool/api/status")))
            return try #require((JSONSerialization.jsonObject(with: data) as? [String: Any])?["store"] as? [String: Any])
        }
        #expect(try store()["quotaBytes"] as? Int == 3 << 30)
        try "log-level = notice\nquota = 2G\nmin-free = 1M\nhttp2 = yes\n".write(toFile: file, atomically: true, encoding: .utf8)
        server.send(SIGHUP)
        #expect(manager.message("READY=1").contains("read again"))
        #expect(try store()["quotaBytes"] as? Int == 2 << 30)
        #expect(try store()["minimumFreeBytes"] as? Int == 1 << 20)
        // One error in the file, and none of it counts.
        try "quota = 1G\nmin-free = much\n".write(toFile: file, atomically: true, encoding: .utf8)
        server.send(SIGHUP)
        #expect(manager.message("READY=1").contains("spool.conf:2: 'min-free'"))
        #expect(try store()["quotaBytes"] as? Int == 2 << 30)
        server.send(SIGTERM)
        let outcome = try server.end()
        #expect(outcome.code == 0)
        #expect(outcome.errors.contains("after a restart only: http2"), "\(outcome.errors)")
    }

    /// A shell is the service manager here: it passes the listener of the test as descriptor 3.
    @Test func `a server takes over the listener of the service manager`() throws {
        let directory = try directory.get()
        let address = try #require(SocketAddress(literal: "127.0.0.1", port: 0))
        var listener = try Socket.listening(on: address)
        let bound = listener.localAddress
        let port = try #require(bound).port
        let executable = try #require(SpoolProcess.executable).path
        let command = "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" serve --listen 127.0.0.1:1 --cache \"$1\""
        let words = ["/bin/sh", "-c", command, executable, directory.path("store")]
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, listener.descriptor, 3)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, directory.path("out"), O_WRONLY | O_CREAT, 0o600)
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var variables: [UnsafeMutablePointer<CChar>?] = [strdup("HOME=\(directory.url.path)"), nil]
        defer { free(variables[0]) }
        var id = pid_t()
        let spawned = posix_spawn(&id, "/bin/sh", &actions, nil, &arguments, &variables)
        // The server has its own copy from now on. Its queue keeps connections until it accepts.
        listener.close()
        try #require(spawned == 0)
        let request = "GET /_spool/health HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n\r\n"
        let answer = try LoopbackHTTPClient.perform(request, host: "127.0.0.1", port: port)
        #expect(answer.hasPrefix("HTTP/1.1 200") && answer.hasSuffix("ok\n"))
        kill(id, SIGTERM)
        var status: Int32 = 0
        #expect(waitpid(id, &status, 0) == id && status == 0)
        #expect(try String(contentsOfFile: directory.path("out"), encoding: .utf8) == "listening on http://127.0.0.1:\(port)/\n")
    }
}
#endif
