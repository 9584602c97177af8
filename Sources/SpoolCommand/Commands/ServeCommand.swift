import Spool
import SpoolCore
import SpoolDashboard
import SpoolLibc
import SpoolOrigin
import SpoolProxy
import SpoolSystem
import SpoolTiers

/// `spool serve`: runs the caching proxy until a signal arrives.
struct ServeCommand: Command {
    static let syntax = CommandSyntax(
        "serve", "Serve media to players through the cache",
        discussion: [
            "A player asks http://HOST:PORT/https/example.com/film.mp4 for https://example.com/film.mp4, or /?url= with the URL"
                + " percent-encoded; with --token, the token comes first in the path. The page of the store is at /_spool/.",
            "When it accepts connections it prints one line, 'listening on http://HOST:PORT/', on a terminal with the token. Ctrl-C stops it,"
                + " and what was fetched stays. SIGTERM lets the answers under way finish first.",
            "SIGHUP reads the settings again. The limits of the store, those of downloads and the log level change at once; the log names the"
                + " settings that wait for a restart. With an error in a file, nothing changes.",
        ],
        flags: settings,
        examples: [
            .init("spool serve", "Serve on 127.0.0.1:8080. Then: mpv http://127.0.0.1:8080/https/example.com/film.mp4"),
            .init(
                "spool serve --listen 0.0.0.0:8080 --token @token.txt --quota 100G",
                "Serve a television too. Its URLs begin with the token."),
            .init(
                "spool serve --origin https://media.example.com --policy whole", "Stand for one site, and store each resource to its end."),
        ])

    /// All flags of a server. A file may set each of them.
    static let settings = ProxySettings.all + BucketSettings.all + [accessLog, drain, loops] + DownloadFlags.all + CacheSettings.fetching

    static let accessLog = Flag(
        "access-log", takes: "FILE", environment: "SPOOL_ACCESS_LOG",
        help: "Add a line for each request to FILE, or to standard output with -: the combined format of web servers, then Content-Range,"
            + " Cache-Status and the time in seconds. SIGHUP opens the file again, for logrotate.")
    static let drain = Flag(
        "drain", takes: "TIME", environment: "SPOOL_DRAIN",
        help: "The longest time for answers that are under way at SIGTERM, from 0s to 1h; 10s by default. Ctrl-C does not wait for them.")
    static let loops = Flag(
        "loops", takes: "N", environment: "SPOOL_LOOPS",
        help: "The number of event loops that share the connections, from 1 to 64; 1 by default. Each has a thread.")
    /// The time for answers under way, unless `--drain` has another.
    private static let usualDrain: Nanoseconds = .seconds(10)
    private static let longestDrainSeconds: Double = 3600

    private let arguments: Arguments
    private let drainTime: Nanoseconds
    private let loopCount: Int?
    private let downloads: DownloadSettings
    /// Reports that this process became the writer of the store.
    private let takeovers = Takeovers()
    let cacheSettings: CacheSettings
    let proxySettings: ProxySettings

    init(_ arguments: Arguments) throws(UsageError) {
        self.arguments = arguments
        let bounds = 0...Self.longestDrainSeconds
        let time = try arguments.value(Self.drain, expected: "a time from 0s to 1h") { TimeText.parse($0, within: bounds) }
        drainTime = time ?? Self.usualDrain
        loopCount = try arguments.number(Self.loops, in: ProxyOptions.loopCounts)
        downloads = try DownloadFlags.settings(arguments)
        let proxySettings = try Self.proxySettings(arguments)
        var cacheSettings = try CacheSettings(arguments)
        cacheSettings.configuration.security.privateNames = proxySettings.privateNames
        cacheSettings.configuration.network.tiers = [
            proxySettings.asksParent.map { .parent($0) }, try BucketSettings(arguments).address.map { .bucket($0) },
        ].compactMap { $0 }
        cacheSettings.configuration.freshness.isShared = proxySettings.hasManyUsers
        // Not for `play`, because the player that it starts could inherit the lanes' restriction to
        // certain cores.
        cacheSettings.configuration.network.keepsLanesOffLoop = true
        cacheSettings.decidesOnSize = true
        cacheSettings.configuration.events.append(takeovers)
        self.proxySettings = proxySettings
        self.cacheSettings = cacheSettings
    }

    /// Reads the flags of the proxy. A service manager may have opened the listener.
    private static func proxySettings(_ arguments: Arguments) throws(UsageError) -> ProxySettings {
        #if os(Linux)
        return try ProxySettings(arguments, listener: ServiceManager().listenerAddress)
        #else
        return try ProxySettings(arguments)
        #endif
    }

    func run() async throws -> ExitCode {
        var options = proxySettings.options
        let token = ProxySettings.randomToken()
        options.programToken = token
        let accessLog = try arguments[Self.accessLog].map { try AccessLog(path: $0) }
        defer { accessLog?.close() }
        if let accessLog { options.onResponse = { accessLog.record($0) } }
        if let loopCount { options.loopCount = loopCount }
        #if os(Linux)
        if let listener = try ServiceManager().takeListener() { options.listen(on: listener.descriptor, listener.address) }
        #endif
        let unixSocket = try proxySettings.unixPath.map { try UnixAddress(path: $0).listeningSocket().release() }
        defer { if let path = proxySettings.unixPath { unlink(path) } }
        options.frontListener = unixSocket
        let service = try await ProxyService.start(cacheSettings, options)
        let report = ServiceReport(log: service.log)
        try await service.ending(grace: drainTime) {
            takeStore(service, token)
            let followingStore = Task { for await _ in takeovers.times { takeStore(service, token) } }
            defer { followingStore.cancel() }
            warnOfEnvironmentProxies(service.log)
            await runDownloads(service)
            try OutputStream.output.write("listening on \(isShownToPerson ? service.baseURL : service.publicAddress)\n")
            // Where a site's scripts or strangers reach the page, it has an address that they
            // cannot guess.
            if isShownToPerson, let page = service.pageURL, page != RunningServer.page(at: service.baseURL) {
                try OutputStream.output.write("what is stored is shown at \(page)\n")
            }
            // Before the report, because SIGHUP would otherwise end the process.
            let reload = SettingsReload(
                started: arguments, directory: cacheSettings.configuration.storage.directory, cache: service.cache, log: service.log)
            try await service.interruption.onHangup {
                do throws(SystemError) { try accessLog?.reopen() } catch { service.log.log(.warning, "the access log stays: \(error)") }
                return report.reload { reload.run() }
            }
            report.ready(service.proxy, service.publicAddress)
            await service.interruption.wait()
            report.stopping()
        }
        return .success
    }

    /// Returns the settings of this command that a running server can take over.
    func liveSettings(in directory: String?) throws -> LiveSettings {
        LiveSettings(
            logLevel: cacheSettings.logLevel, limits: try directory.map { try cacheSettings.limits(in: $0) },
            limitTexts: try directory.map { try cacheSettings.limitTexts(in: $0) } ?? [], downloads: downloads)
    }

    /// Warns about proxies of the environment. Such a proxy resolves the names itself, so this
    /// process cannot check the addresses.
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

    /// Whether a person sees the output, who needs the token in the URL. Output elsewhere ends in a
    /// log, and has no token.
    private var isShownToPerson: Bool { OutputStream.output.isTerminal }

    /// Keeps the limits in the store, and lets commands find this server, when this process is the
    /// writer of the store.
    private func takeStore(_ service: ProxyService, _ token: String) {
        keepLimits(service)
        do throws(SystemError) { _ = try service.announce(token) } catch {
            // Commands on the same store cannot find this server, but players can.
            service.log.log(.warning, "commands on the store won't find this server: \(error)")
        }
    }

    /// Writes the given limits into the store, when this process is its writer.
    private func keepLimits(_ service: ProxyService) {
        guard service.cache.store.isWritable, let directory = cacheSettings.configuration.storage.directory else { return }
        do throws(SystemError) {
            let earlier = try cacheSettings.limitsSetEarlier(in: directory)
            if !earlier.isEmpty {
                let list = earlier.joined(separator: ", ")
                service.log.log(.info, "the store keeps limits that were set earlier: \(list); see 'spool limits'")
            }
            try cacheSettings.keepLimits(in: directory)
        } catch {
            service.log.log(.warning, "the limits hold for this run only: \(error)")
        }
    }

    /// Runs the list of downloads of the store, as soon as this process is its writer.
    private func runDownloads(_ service: ProxyService) async {
        service.cache.downloads.settings = downloads
        do throws(CacheError) { try await service.cache.downloads.start() } catch {
            service.log.log(.warning, "the list of downloads does not run: \(error)")
        }
    }
}

/// A cache with its HTTP proxy, signals and log: the common part of `serve`, `demo` and `play`.
struct ProxyService {
    let cache: MediaCache
    let proxy: ProxyServer
    private let dashboard: Dashboard
    let interruption: Interruption
    let log: StandardErrorLog
    /// The address of the proxy, with a slash at its end.
    let baseURL: String

    /// The URL of the status page, or nil while the proxy does not listen.
    var pageURL: String? { dashboard.pageURL(at: proxy) }

    /// The same address without the token.
    var publicAddress: String { RunningServer(address: baseURL, token: "").publicAddress }
    /// The largest number of descriptors for data files, even when the process may have more. It is
    /// enough for the files of all idle sessions and of present writes.
    private static let mostOpenFiles = 1024

    /// Opens the store and starts the proxy. Returns once connections are accepted.
    static func start(
        _ settings: CacheSettings, _ options: ProxyOptions, _ dashboardOptions: DashboardOptions = DashboardOptions()
    ) async throws -> ProxyService {
        // Signals are installed first, because one that arrives while the store opens must close
        // it.
        let interruption = try await Interruption.install()
        let log = settings.makeLog()
        let descriptors = DescriptorLimit.raise()
        let options = options.connections(within: descriptors, log)
        var settings = settings
        settings.configuration.storage.openFileCount = min(mostOpenFiles, descriptors / Configuration.Storage.descriptorShare)
        let cache = try settings.open(log: log)
        do {
            var dashboardOptions = dashboardOptions
            dashboardOptions.version = VersionCommand.version
            dashboardOptions.reload = { interruption.hangUp($0) }
            let dashboard = Dashboard(cache: cache, of: options, dashboardOptions)
            let proxy = try ProxyServer(cache: cache, options: options.logging(to: log), ownPages: dashboard.pages)
            try proxy.start()
            log.log(.info, "the store is at \(cache.configuration.storage.directory ?? "its default place")")
            return ProxyService(
                cache: cache, proxy: proxy, dashboard: dashboard, interruption: interruption, log: log, baseURL: proxy.baseURL ?? "")
        } catch {
            await cache.close()
            log.close()
            throw error
        }
    }

    /// Writes `serve.json` for commands on the same store, when this process is its writer. Returns
    /// the server as they find it.
    func announce(_ token: String) throws(SystemError) -> RunningServer {
        var server = RunningServer(address: baseURL, token: token)
        server.page = pageURL.flatMap { $0 == RunningServer.page(at: baseURL) ? nil : $0 }
        guard cache.store.isWritable, let directory = cache.configuration.storage.directory else { return server }
        if RunningServer.isOpenToOthers(directory) {
            log.log(.warning, "others can write to \(directory), where the store is: 'chmod go-w \(directory)'")
        }
        try server.announce(in: directory)
        return server
    }

    /// Runs `body`, then removes `serve.json` and stops the service, also after an error.
    ///
    /// - Parameter grace: The longest time for answers that are under way at SIGTERM.
    func ending<Result>(grace: Nanoseconds = 0, after body: () async throws -> Result) async throws -> Result {
        let result: Swift.Result<Result, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        do throws(SystemError) { try retract() } catch { log.log(.warning, "\(error)") }
        await stop(grace: interruption.signal == SIGTERM ? grace : 0)
        return try result.get()
    }

    /// Removes `serve.json`, when this process has written it.
    private func retract() throws(SystemError) {
        guard cache.store.isWritable, let directory = cache.configuration.storage.directory else { return }
        try RunningServer.retract(in: directory)
    }

    /// Stops the proxy, then closes the store, then the log.
    private func stop(grace: Nanoseconds) async {
        let isInterrupted = interruption.signal != nil
        if isInterrupted {
            let wait = grace > 0 ? "answers under way have \(grace / 1_000_000_000) s; " : ""
            log.log(.info, "stopping; \(wait)a second signal stops at once")
            if OutputStream.error.isTerminal {
                // The terminal's line contains ^C.
                OutputStream.error.say("")
                OutputStream.error.say("spool: stopping; a second signal stops at once")
            }
        }
        proxy.stop(grace: grace)
        await cache.close()
        log.log(.info, "stopped; what was fetched stays")
        log.close()
        // The log of a quiet command does not have the line.
        if isInterrupted, OutputStream.error.isTerminal, log.level > .info { OutputStream.error.say("spool: stopped") }
    }
}

extension ProxyOptions {
    /// The descriptors that are not for clients: data files, origins, and those of libraries.
    private static let otherDescriptors = 1024
    /// The largest number of client connections, even when there are more descriptors. An idle one
    /// costs 3 KiB here and some memory in the kernel.
    private static let mostConnections = 16_384

    /// Returns the options with as many connections as there are descriptors for.
    fileprivate func connections(within descriptors: Int, _ log: StandardErrorLog) -> ProxyOptions {
        var options = self
        let room = descriptors > 2 * Self.otherDescriptors ? descriptors - Self.otherDescriptors : descriptors / 2
        options.maximumConnections = max(16, min(room, Self.mostConnections))
        log.log(.debug, "\(descriptors) open files are allowed: at most \(options.maximumConnections) connections")
        return options
    }

    /// Returns the options with an access log at debug level only, because a line for each request
    /// costs as much as the request.
    fileprivate func logging(to log: StandardErrorLog) -> ProxyOptions {
        guard log.level <= .debug else { return self }
        var options = self
        let next = options.onResponse
        options.onResponse = { record in
            next?(record)
            log.log(.debug, record)
        }
        return options
    }
}

/// The times at which the process became the writer of its store.
///
/// A sink of its own, because a stream of all events would wake a thread for each hit.
private final class Takeovers: EventSink {
    let times: AsyncStream<Void>
    let recordsReaders = false
    private let added: AsyncStream<Void>.Continuation

    init() {
        (times, added) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func record(_ event: CacheEvent) {
        if case .becameWriter = event { added.yield() }
    }
}
