import Spool
import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolSystem

/// `spool serve`: the caching proxy, until a signal comes.
struct ServeCommand: Command {
    static let syntax = CommandSyntax(
        "serve", "Serve media to players through the cache",
        discussion: [
            "A player asks http://HOST:PORT/https/example.com/film.mp4 for https://example.com/film.mp4, or /?url= with the URL"
                + " percent-encoded; with --token, the token comes first in the path. What is stored is at /_spool/.",
            "When it accepts connections it prints one line, 'listening on http://HOST:PORT/', on a terminal with the token. Ctrl-C stops it,"
                + " and what was fetched stays.",
        ],
        flags: ProxySettings.all + CacheSettings.fetching)

    private let cacheSettings: CacheSettings
    private let proxySettings: ProxySettings

    init(_ arguments: Arguments) throws(UsageError) {
        let proxySettings = try ProxySettings(arguments)
        var cacheSettings = try CacheSettings(arguments)
        cacheSettings.configuration.privateNames = proxySettings.privateNames
        cacheSettings.configuration.isShared = proxySettings.hasManyUsers
        // Not for `play`: the player that it starts could inherit where a lane may run.
        cacheSettings.configuration.keepsLanesOffLoop = true
        cacheSettings.decidesOnSize = true
        self.proxySettings = proxySettings
        self.cacheSettings = cacheSettings
    }

    func run() async throws -> ExitCode {
        var options = proxySettings.options
        let token = ProxySettings.randomToken()
        options.commandToken = token
        let service = try await ProxyService.start(cacheSettings, options)
        do {
            keepLimits(service)
            do throws(SystemError) { try announce(service, token) } catch {
                // Commands beside it can't find this server; players can.
                service.log.log(.warning, "commands on the store won't find this server: \(error)")
            }
            warnOfEnvironmentProxies(service.log)
            try OutputStream.output.write("listening on \(isShownToPerson ? service.baseURL : service.publicAddress)\n")
            // Below a fixed origin the page has an address that the site's scripts can't guess.
            if options.fixedOrigin != nil, isShownToPerson, let page = service.proxy.pageURL {
                try OutputStream.output.write("what is stored is shown at \(page)\n")
            }
            await service.interruption.wait()
        } catch {
            await service.stop()
            throw error
        }
        do throws(SystemError) { try retract(service) } catch { service.log.log(.warning, "\(error)") }
        await service.stop()
        return .success
    }

    /// A proxy of the environment looks up the names itself, so nothing here sees the addresses that they lead to.
    private func warnOfEnvironmentProxies(_ log: StandardErrorLog) {
        #if os(Linux)
        let names = EnvironmentProxy().names
        guard !names.isEmpty, proxySettings.privateNames != .allowed else { return }
        log.log(
            .warning,
            "\(names.joined(separator: " and ")) is set: that proxy looks up the names of origins, so public names that lead to private"
                + " addresses are not refused here")
        #endif
    }

    /// On a terminal the URL is for a person, who wants the token in it. Elsewhere it ends in a log.
    private var isShownToPerson: Bool { OutputStream.output.isTerminal }

    /// The limits that were given are the store's from now on, when this process is the one that writes it.
    private func keepLimits(_ service: ProxyService) {
        guard service.cache.store.isWritable, let directory = cacheSettings.configuration.directory else { return }
        do throws(SystemError) { try cacheSettings.keepLimits(in: directory) } catch {
            service.log.log(.warning, "the limits hold for this run only: \(error)")
        }
    }

    /// Tells commands on the same store whom to ask, when this process is the one that writes it.
    private func announce(_ service: ProxyService, _ token: String) throws(SystemError) {
        guard service.cache.store.isWritable, let directory = cacheSettings.configuration.directory else { return }
        if RunningServer.isOpenToOthers(directory) {
            service.log.log(.warning, "others can write to \(directory), where the store is: 'chmod go-w \(directory)'")
        }
        let isGeneral = proxySettings.options.fixedOrigin == nil
        var server = RunningServer(address: service.baseURL, token: token, isGeneral: isGeneral)
        if !isGeneral { server.page = service.proxy.pageURL }
        try server.announce(in: directory)
    }

    private func retract(_ service: ProxyService) throws(SystemError) {
        guard service.cache.store.isWritable, let directory = cacheSettings.configuration.directory else { return }
        try RunningServer.retract(in: directory)
    }
}

/// A cache with its HTTP door, signals and log: what `serve`, `demo` and `play` have in common.
struct ProxyService {
    let cache: MediaCache
    let proxy: ProxyServer
    let interruption: Interruption
    let log: StandardErrorLog
    /// Where the door is, with a slash at its end.
    let baseURL: String

    /// The same without the token.
    var publicAddress: String { RunningServer(address: baseURL, token: "", isGeneral: true).publicAddress }
    /// The most descriptors for data files, however many the process may have: the files of all idle sessions, and what is being written.
    private static let mostOpenFiles = 1024

    /// Opens the store and listens; returns once connections are accepted.
    static func start(_ settings: CacheSettings, _ options: ProxyOptions) async throws -> ProxyService {
        // Signals first: one that comes while the store opens must close it.
        let interruption = try await Interruption.install()
        let log = settings.makeLog()
        let descriptors = DescriptorLimit.raise()
        let options = options.connections(within: descriptors, log)
        var settings = settings
        settings.configuration.openFiles = min(mostOpenFiles, descriptors / Configuration.descriptorShare)
        let cache = try settings.open(log: log)
        do {
            let proxy = try ProxyServer(cache: cache, options: options.logging(to: log))
            try proxy.start()
            log.log(.info, "the store is at \(cache.configuration.directory ?? "its default place")")
            return ProxyService(cache: cache, proxy: proxy, interruption: interruption, log: log, baseURL: proxy.baseURL ?? "")
        } catch {
            await cache.close()
            log.close()
            throw error
        }
    }

    /// Closes the door, then the store; the log goes last.
    func stop() async {
        if interruption.signal != nil {
            log.log(.debug, "stopping; a second signal stops at once")
            if OutputStream.error.isTerminal {
                // The line of the terminal has ^C in it.
                OutputStream.error.say("")
                OutputStream.error.say("spool: stopping; a second signal stops at once")
            }
        }
        proxy.stop()
        await cache.close()
        log.log(.debug, "stopped")
        log.close()
    }
}

extension ProxyOptions {
    /// Descriptors that are not for clients: data files, origins, and whatever libraries open.
    private static let otherDescriptors = 1024
    /// The most connections of clients, however many descriptors there may be: an idle one costs 3 KiB here and some in the kernel.
    private static let mostConnections = 16_384

    /// The options with as many connections as there are descriptors for.
    fileprivate func connections(within descriptors: Int, _ log: StandardErrorLog) -> ProxyOptions {
        var options = self
        let room = descriptors > 2 * Self.otherDescriptors ? descriptors - Self.otherDescriptors : descriptors / 2
        options.connections = max(16, min(room, Self.mostConnections))
        log.log(.debug, "\(descriptors) open files are allowed: at most \(options.connections) connections")
        return options
    }

    /// The options with an access log, where details are wanted: a line for each request costs as much as the request.
    fileprivate func logging(to log: StandardErrorLog) -> ProxyOptions {
        guard log.level <= .debug else { return self }
        var options = self
        let next = options.onResponse
        options.onResponse = { record in
            next?(record)
            let problem = record.problem.map { "  \($0)" } ?? ""
            let facts = "\(record.status)  \(ByteCount.text(record.bytesSent))  \(Int64(record.milliseconds)) ms"
            log.log(.debug, "\(record.method) \(record.target)  \(facts)\(problem)")
        }
        return options
    }
}
