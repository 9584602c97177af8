import SpoolLibc
import SpoolProxy
import SpoolSystem

/// The checks of the running server and of the address that a server would listen on.
struct ServerCheck {
    let directory: String
    let options: ProxyOptions

    func findings() -> [Finding] {
        let server = RunningServer.announced(in: directory)
        let answers = server.map(Self.answers) ?? false
        return [self.server(server, answers), port(answers ? server : nil)] + (answers ? server.map(clients) ?? [] : [])
    }

    /// The requests of the running server's clients, if they suit its settings badly.
    private func clients(_ server: RunningServer) -> [Finding] {
        do {
            guard let advice = try server.advice() else { return [] }
            return [.warning("clients", advice, advice: "start the server with --behind-proxy, or ignore this for a download helper")]
        } catch {
            // An older server has no advice, and one that ends meanwhile needs none.
            return []
        }
    }

    private func server(_ server: RunningServer?, _ answers: Bool) -> Finding {
        guard let server else { return .ok("server", "none runs on this store") }
        let process = server.process.map { " (process \($0))" } ?? ""
        guard answers else {
            return .warning(
                "server", "serve.json names \(server.publicAddress)\(process), which does not answer",
                advice: "start 'spool serve' again; the file of a killed server does no harm")
        }
        return .ok("server", "\(server.publicAddress)\(process) has the store, and answers")
    }

    private static func answers(_ server: RunningServer) -> Bool {
        do {
            try server.enterReceived()
            return true
        } catch {
            return false
        }
    }

    private func port(_ server: RunningServer?) -> Finding {
        let name = "\(options.host):\(options.port)"
        guard let address = SocketAddress.resolve(options.host, port: options.port).first else {
            return .problem("port", "\(options.host) is neither an address nor localhost", advice: "give --listen HOST:PORT")
        }
        do throws(SystemError) {
            var socket = try Socket.listening(on: address)
            socket.close()
            return .ok("port", "\(name) is free")
        } catch {
            if let server, server.address.contains(":\(options.port)/") { return .ok("port", "\(name) is that server's") }
            let advice =
                switch error.code {
                case EACCES: "ports below 1024 need rights: use a higher one, or AmbientCapabilities=CAP_NET_BIND_SERVICE in a unit"
                case EADDRINUSE: "stop the program that listens there ('ss -ltnp' shows it), or give --listen HOST:PORT"
                case EADDRNOTAVAIL: "this machine does not have the address; give another one with --listen HOST:PORT"
                default: "give another address with --listen HOST:PORT"
                }
            return .problem("port", "'spool serve' can't listen on \(name): \(error.text)", advice: advice)
        }
    }
}
