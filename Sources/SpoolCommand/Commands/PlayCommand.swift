import Spool
import SpoolCore
import SpoolLibc
import SpoolProxy
import SpoolSystem

/// `spool play`: starts a player on a URL, with a proxy of its own in between.
struct PlayCommand: Command {
    static let player = Flag(
        "player", takes: "mpv|vlc|ffplay", help: "The player; by default the first of these that is installed.")

    static let syntax = CommandSyntax(
        "play", "Play a URL through the cache",
        discussion: [
            "Starts a proxy on a free port, and the player with the proxied URL; stops when the player ends. The player reads the URL from a"
                + " playlist that only its user can read: it begins with a token that admits to the cache, and a command line is public.",
            "While 'spool serve' has the store, requests go through that server, which keeps the bytes. Arguments after '--' go to the"
                + " player.",
        ],
        operands: .init(usage: "URL [-- ARGUMENT…]", count: 1...CommandSyntax.maxOperands, completion: .stored),
        flags: [player] + CacheSettings.fetching + [KeySettings.asGiven],
        examples: [
            .init("spool play https://example.com/film.mp4", "Play with mpv, VLC or ffplay, whichever is installed."),
            .init("spool play --player mpv https://example.com/film.mp4 -- --fullscreen", "Pass flags to the player."),
        ])

    /// A supported player: its program, the arguments that make it exit at the end of the media,
    /// and its form of a playlist with one URL.
    private struct Player: Sendable {
        let name: String
        var arguments: [String] = []
        var fileName = "play.m3u"
        var text: @Sendable (_ url: String) -> String = { "#EXTM3U\n\($0)\n" }
        /// Returns the arguments that name the playlist.
        let words: @Sendable (_ path: String) -> [String]

        static let known = [
            Player(name: "mpv") { ["--playlist=" + $0] },
            Player(name: "vlc", arguments: ["--play-and-exit"]) { [$0] },
            // FFmpeg's programs read no list of plain media but that of the concat demuxer.
            Player(
                name: "ffplay", arguments: ["-autoexit", "-loglevel", "warning"], fileName: "play.ffconcat",
                text: { "ffconcat version 1.0\nfile '\($0.replacing("'", with: "'\\''"))'\n" },
                words: { ["-f", "concat", "-safe", "0", "-protocol_whitelist", "file,http,https,tcp,tls,crypto,data", $0] }),
        ]

        /// Writes the playlist for a URL into a directory that only this user can enter. Returns
        /// the arguments that make the player read it.
        func write(_ url: String, in directory: TemporaryDirectory) throws(SystemError) -> [String] {
            let path = "\(directory.path)/\(fileName)"
            try POSIXFileSystem().open(path, .create).write(Array(text(url).utf8), at: 0)
            return words(path)
        }
    }

    /// The programs that `play` can start.
    static var playerNames: [String] { Player.known.map(\.name) }

    private let settings: CacheSettings
    private let url: String
    private let arguments: [String]
    private let players: [Player]

    init(_ arguments: Arguments) throws(UsageError) {
        settings = try CacheSettings(arguments, level: .warning)
        url = arguments.meant(arguments.operands[0])
        self.arguments = Array(arguments.operands.dropFirst())
        let player = try arguments.value(Self.player, expected: "mpv, vlc or ffplay") { name in Player.known.first { $0.name == name } }
        players = player.map { [$0] } ?? Player.known
    }

    func run() async throws -> ExitCode {
        var options = ProxyOptions()
        let token = ProxySettings.randomToken()
        options.programToken = token
        let trouble = Trouble()
        var settings = settings
        settings.configuration.events.append(trouble)
        options.onResponse = { record in if record.status >= 400 { trouble.answered(record.status) } }
        let service = try await ProxyService.start(settings, options)
        let failure = try await service.ending {
            // Other commands find the store through this process for as long as the player runs.
            do throws(SystemError) { _ = try service.announce(token) } catch { service.log.log(.warning, "\(error)") }
            return try await play(service)
        }
        // Each answer is on record once the proxy has stopped.
        if let failure { throw trouble.failure(failure) }
        return .success
    }

    /// Runs the player until it ends.
    ///
    /// - Returns: The end of a player that failed, or nil.
    private func play(_ service: ProxyService) async throws -> String? {
        guard let proxied = service.proxy.url(for: url) else {
            throw Failure("only absolute http and https URLs can be played: '\(url)'", .usage)
        }
        let directory = try TemporaryDirectory(prefix: "spool-play")
        defer { directory.remove() }
        let child = try start(proxied, directory)
        service.interruption.onFirst { child.terminate() }
        let end = await child.end()
        switch end {
        case .exited(0): return nil
        // The same Ctrl-C stopped the player, which is the usual way to end it.
        case _ where service.interruption.signal != nil: return nil
        case .exited(let code): return "\(child.name) ended with exit code \(code)"
        case .signal(let signal): throw Failure("\(child.name) was ended by signal \(signal)")
        }
    }

    /// Starts the first player that is installed, without this program's secrets in its
    /// environment.
    private func start(_ proxied: String, _ directory: TemporaryDirectory) throws -> ChildProcess {
        for player in players {
            do throws(SystemError) {
                let playlist = try player.write(proxied, in: directory)
                return try ChildProcess.start([player.name] + player.arguments + arguments + playlist, without: Environment.secrets)
            } catch {
                guard error.code == ENOENT else { throw error }
            }
        }
        let names = players.map(\.name).joined(separator: ", ")
        throw Failure("no player found: \(names); install one, or name an installed one with --player")
    }
}

/// The last error that the player met, for the message at its end.
private final class Trouble: EventSink {
    private struct State {
        /// The status of the last error response.
        var status: Int?
        /// The reason why the last origin request failed.
        var reason: String?
    }

    let recordsReaders = false
    private let state = Locked(State())

    func record(_ event: CacheEvent) {
        if case .fetchEnded(_, _, let reason?) = event { state.withLock { $0.reason = reason } }
    }

    func answered(_ status: Int) { state.withLock { $0.status = status } }

    /// Returns the error of a player that ended so.
    func failure(_ end: String) -> Failure {
        let (status, reason) = state.withLock { ($0.status, $0.reason) }
        guard let status else { return Failure(end) }
        let isUnreachable = (status == 502 || status == 504) && reason != nil
        let cause = reason.map { isUnreachable ? " (\($0))" : "" } ?? ""
        return Failure("\(end); the last error in an answer was \(status)\(cause)", isUnreachable ? .unreachable : .failure)
    }
}
