import Spool
import SpoolCore
import SpoolDashboard
import SpoolProxy

/// `spool demo`: the proxy, an origin with generated music, and a page that shows the stored bytes.
struct DemoCommand: Command {
    static let directory = Flag(
        "cache", takes: "DIR", help: "The directory of the store; by default a temporary one, which the end of the demo removes.")
    static let rate = Flag(
        "rate", takes: "BYTES", help: "Bytes a second that the origin sends on each connection; 1.5M by default, 0 is no limit.")
    static let seconds = Flag("seconds", takes: "N", help: "The length of each piece.").hidden
    static let originPort = Flag("origin-port", takes: "PORT", help: "The origin's port; 0 takes one that is free.").hidden
    static let originOnly = Flag("origin-only", help: "Only the origin, without a proxy.").hidden

    static let syntax = CommandSyntax(
        "demo", "Try it: generated music from a slow origin, the proxy, and a page that shows what is stored",
        discussion: [
            "Open the page that is printed and play something: the bar fills with what is stored. The page leads through the first minute, with"
                + " switches that stop the origin, slow it down or make it answer wrongly. Any other URL can be played through the same proxy."
        ],
        flags: [ProxySettings.listen, ProxySettings.token, directory, rate, CacheSettings.readAhead, CacheSettings.policy]
            + EncryptionSettings.all + [IdentitySettings.identity, LimitFlags.maximumResource]
            + CacheSettings.logging + [seconds, originPort, originOnly],
        examples: [
            .init("spool demo", "Open the page that it prints, and play."),
            .init("spool demo --rate 300K", "Let the origin be slower."),
        ], isConfigurable: false)

    private var settings: CacheSettings
    private let proxySettings: ProxySettings
    private let givenDirectory: String?
    private let bytesPerSecond: Int64?
    private let seconds: Int?
    private let originPort: UInt16
    private let isOriginOnly: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        settings = try CacheSettings(arguments, level: .warning)
        proxySettings = try ProxySettings(arguments)
        settings.configuration.security.privateNames = proxySettings.privateNames
        givenDirectory = arguments[Self.directory]
        let rate = try arguments.value(Self.rate, expected: "a size, for example 1.5M", ByteCount.parse) ?? 3 << 19
        bytesPerSecond = rate == 0 ? nil : rate
        // A WAV file counts its bytes in 32 bits, which is enough for about six hours.
        seconds = try arguments.number(Self.seconds, in: 1...20_000)
        originPort = try arguments.value(Self.originPort, expected: "a port number") { UInt16($0) } ?? 0
        isOriginOnly = arguments.has(Self.originOnly)
    }

    func run() async throws -> ExitCode {
        let origin = try DemoOrigin(files: DemoFile.all(seconds: seconds), bytesPerSecond: bytesPerSecond)
        defer { origin.stop() }
        try origin.start(port: originPort)
        if isOriginOnly { return try await serveOrigin(origin) }
        guard givenDirectory == nil else { return try await serve(origin, settings) }
        let directory = try TemporaryDirectory(prefix: "spool-demo")
        defer { directory.remove() }
        var settings = settings
        settings.configuration.storage.directory = directory.path
        return try await serve(origin, settings)
    }

    private func serveOrigin(_ origin: DemoOrigin) async throws -> ExitCode {
        let interruption = try await Interruption.install()
        try OutputStream.output.write("origin on \(origin.baseURL)\n")
        await interruption.wait()
        return .success
    }

    private func serve(_ origin: DemoOrigin, _ settings: CacheSettings) async throws -> ExitCode {
        var dashboard = DashboardOptions()
        dashboard.demoTracks = origin.files.map { DemoTrack(title: $0.title, url: origin.url(of: $0)) }
        let switches = DemoSwitches(of: origin)
        dashboard.demoSwitches = try origin.startSwitches(switches)
        let token = ProxySettings.randomToken()
        var options = proxySettings.options
        options.programToken = token
        let service = try await ProxyService.start(settings, options, dashboard)
        try await service.ending {
            allowPage(of: service, switches)
            let server = try service.announce(token)
            try OutputStream.output.write(invitation(service, origin, page: page(of: service, server)))
            await service.interruption.wait()
        }
        return .success
    }

    /// Lets the page use the switches, by each name that a browser has for this machine.
    private func allowPage(of service: ProxyService, _ switches: DemoSwitches) {
        guard let origin = try? URIReference(service.baseURL).origin else { return }
        switches.allow(page: origin.description)
        switches.allow(page: "http://localhost:\(origin.port)")
    }

    /// Returns the address of the page. On a terminal it logs one browser in. Other output ends in
    /// a log, which gets no secret.
    private func page(of service: ProxyService, _ server: RunningServer) -> String {
        let page = service.baseURL + "_spool/"
        guard OutputStream.output.isTerminal else { return page }
        do { return try server.loginLink() } catch {
            // The page works as well, and only shows.
            service.log.log(.warning, "\(error)")
            return page
        }
    }

    private func invitation(_ service: ProxyService, _ origin: DemoOrigin, page: String) -> String {
        let pace = bytesPerSecond.map { "\(ByteCount.text($0))/s" } ?? "full speed"
        var lines = ["listening on \(service.baseURL)", "", "Open  \(page)", ""]
        lines.append("or play from the slow origin (\(pace)) with any player:")
        lines += origin.files.compactMap { service.proxy.url(for: origin.url(of: $0)) }.map { "      mpv \($0)" }
        let directory = service.cache.configuration.storage.directory ?? ""
        lines += ["", "To pin, remove and fetch on the page:  spool login --cache \(directory)"]
        lines += ["", "Other URLs: \(service.baseURL)https/example.com/film.mp4 is https://example.com/film.mp4. Ctrl-C stops.", ""]
        return lines.joined(separator: "\n")
    }
}
