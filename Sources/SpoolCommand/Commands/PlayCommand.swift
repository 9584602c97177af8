import Spool
import SpoolCore
import SpoolProxy
import SpoolSystem

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// `spool play`: a player on a URL, with a proxy of its own in between.
struct PlayCommand: Command {
    static let player = Flag(
        "player", takes: "mpv|vlc|ffplay", help: "The player; by default the first of these that is installed.")

    static let syntax = CommandSyntax(
        "play", "Play a URL through the cache",
        discussion: [
            "Starts a proxy on a free port that only this player knows, and the player with the proxied URL; stops when the player ends.",
            "What follows '--' is given to the player.",
        ],
        operands: .init(usage: "URL [-- ARGUMENT…]", count: 1...CommandSyntax.maxOperands),
        flags: [player] + CacheSettings.fetching)

    /// A player that is known: its program, and what makes it end when the media does.
    private struct Player {
        let name: String
        let arguments: [String]

        static let known = [
            Player(name: "mpv", arguments: []),
            Player(name: "vlc", arguments: ["--play-and-exit"]),
            Player(name: "ffplay", arguments: ["-autoexit", "-loglevel", "warning"]),
        ]
    }

    private let settings: CacheSettings
    private let url: String
    private let arguments: [String]
    private let players: [Player]

    init(_ arguments: Arguments) throws(UsageError) {
        settings = try CacheSettings(arguments, level: .warning)
        url = arguments.operands[0]
        self.arguments = Array(arguments.operands.dropFirst())
        let player = try arguments.value(Self.player, expected: "mpv, vlc or ffplay") { name in Player.known.first { $0.name == name } }
        players = player.map { [$0] } ?? Player.known
    }

    func run() async throws -> ExitCode {
        let service = try await ProxyService.start(settings, ProxySettings.own(token: ProxySettings.randomToken()))
        do {
            let code = try await play(service)
            await service.stop()
            return code
        } catch {
            await service.stop()
            throw error
        }
    }

    private func play(_ service: ProxyService) async throws -> ExitCode {
        guard let proxied = service.proxy.url(for: url) else {
            throw Failure("only absolute http and https URLs can be played: '\(url)'", .usage)
        }
        let child = try start(proxied)
        service.interruption.onFirst { child.terminate() }
        let end = await child.end()
        switch end {
        case .exited(0): return .success
        // The player was stopped by the same Ctrl-C: that is how people end it.
        case _ where service.interruption.signal != nil: return .success
        case .exited(let code): throw Failure("\(child.name) ended with exit code \(code)")
        case .signal(let signal): throw Failure("\(child.name) was ended by signal \(signal)")
        }
    }

    /// Starts the first player that there is.
    private func start(_ proxied: String) throws -> ChildProcess {
        for player in players {
            do throws(SystemError) {
                return try ChildProcess.start([player.name] + player.arguments + arguments + [proxied])
            } catch {
                guard error.code == ENOENT else { throw error }
            }
        }
        let names = players.map(\.name).joined(separator: ", ")
        throw Failure("no player found: \(names); install one, or name another one that is with --player")
    }
}
