import Spool
import SpoolCore
import SpoolDASH
import SpoolDashboard
import SpoolJSON
import SpoolLibc
import SpoolStore
import SpoolSystem

/// The settings that the commands on a cache share: the place of the store, its use, and the log.
struct CacheSettings {
    var configuration = Configuration()
    let logLevel: LogLevel
    let logFormat: StandardErrorLog.Format
    let encryption: EncryptionSettings
    /// The limits on the command line, as text by the names of their flags. Those of the
    /// environment are not included.
    let givenLimits: [String: String]
    /// The limits of the command line and the environment. They apply to this command, whatever
    /// limits the store keeps.
    private let ownLimits: [String: String]
    private let headers: HeaderSettings

    static let directory = Flag(
        "cache", takes: "DIR", environment: "SPOOL_CACHE",
        help: "The directory of the store; $XDG_CACHE_HOME/spool or ~/.cache/spool by default.")
    static let readAhead = Flag(
        "read-ahead", takes: "BYTES", help: "How far fetches run ahead of the player while it reads; 4M by default, at least 64K.")
    static let fetchesPerHost = Flag(
        "fetches-per-host", takes: "COUNT",
        help:
            "The requests to one host at a time; 6 by default, and from 1 to 64. A player that has waited for a second gets a further one, up to four times as many."
    )
    static let policy = Flag(
        "policy", takes: "POLICY", words: ["while-playing", "read-ahead=", "whole"],
        help:
            "How much is fetched: 'while-playing' (the default), 'read-ahead=BYTES' beyond the player, also while it pauses, or the 'whole' resource."
    )
    static let freshness = Flag(
        "freshness", takes: "RULE", words: ["explicit", "prefer-stored", "standard", "store-everything"],
        help:
            "When stored bytes are used without asking the origin: 'explicit' (the default) for audio and video, with one check for a "
            + "play where the origin demands it; 'prefer-stored' without any check; 'standard' by HTTP's caching rules "
            + "(always with --origin, unless everything is stored); or 'store-everything', which stores even what its origin forbids to store."
    )
    static let certificates = Flag(
        "ca-file", takes: "FILE", environment: "SPOOL_CA_FILE",
        help: "Verify HTTPS origins by these certificates (PEM), in place of the system's bundle. On Debian and Ubuntu, the system's"
            + " directory of certificates counts too. On Apple's systems, add the certificate to the keychain instead.")
    static let http2 = Flag(
        "http2", help: "Ask HTTPS origins by HTTP/2 where they offer it: one connection for many requests, but a pause buffers more.")
    static let verbose = Flag("verbose", "v", help: "Log every request and every fetch.")
    static let level = Flag(
        "log-level", takes: "trace|debug|info|notice|warning|error",
        help: "The lowest level that is logged; with --verbose 'debug'. By default 'info' of a server, and 'warning' of other commands.")
    static let logJSON = Flag("log-json", help: "Log one JSON object a line.")
    static let logging = [verbose, level, logJSON]

    /// The flags of every command on a store.
    static let store = [directory] + EncryptionSettings.all

    /// The flags about fetches.
    static let fetches = [
        readAhead, fetchesPerHost, policy, freshness, IdentitySettings.identity, PatienceSettings.patience, certificates, http2,
    ]
    /// The flags of commands that fetch.
    static let fetching =
        store + LimitFlags.all + [LimitFlags.maximumResource] + fetches + HeaderSettings.all + KeySettings.all + logging

    /// Creates the settings from the arguments.
    ///
    /// - Parameters:
    ///   - level: The lowest level that is logged without `--verbose`.
    ///   - takesDefaults: Whether limits may be `default`.
    init(_ arguments: Arguments, level: LogLevel = .info, takesDefaults: Bool = false) throws(UsageError) {
        configuration.storage.directory = arguments[Self.directory] ?? Self.defaultDirectory
        logLevel = try Self.logLevel(arguments, default: level)
        configuration.network.logsOutages = level < .warning
        logFormat = arguments.has(Self.logJSON) ? .json : .text
        givenLimits = try LimitFlags.given(arguments, isExplicit: true, takesDefaults: takesDefaults)
        ownLimits = try LimitFlags.given(arguments, isExplicit: false, takesDefaults: takesDefaults)
        if let policy = try arguments.value(Self.policy, expected: "while-playing, read-ahead=BYTES or whole", Self.fetchPolicy) {
            configuration.fetching.policy = policy
        }
        let policies: KeyValuePairs<String, CachePolicy> = [
            "explicit": .explicit, "prefer-stored": .preferStored, "standard": .standard, "store-everything": .storeEverything,
        ]
        if let policy = try arguments.choice(Self.freshness, among: policies) { configuration.freshness.policy = policy }
        if let bytes = try arguments.value(Self.readAhead, expected: "a size of at least 64K", Self.readAheadBytes) {
            configuration.fetching.readAheadBytes = bytes
        }
        if let count = try arguments.number(Self.fetchesPerHost, in: 1...64) { configuration.fetching.maximumFetchesPerHost = count }
        headers = try HeaderSettings(arguments)
        headers.apply(to: &configuration)
        configuration.freshness.keyPolicy = try KeySettings.policy(arguments)
        #if canImport(Darwin)
        if arguments.has(Self.certificates) {
            throw arguments.invalid(Self.certificates, "is not known on this system; add the certificate to the keychain")
        }
        #endif
        configuration.network.certificateFile = try arguments.value(
            Self.certificates, expected: "a file that can be read", Self.readableFile)
        configuration.network.usesHTTP2 = arguments.has(Self.http2)
        configuration.freshness.identities = try IdentitySettings.read(arguments)
        try PatienceSettings.apply(arguments, to: &configuration)
        configuration.storage.maximumResourceBytes = try LimitFlags.maximumResourceBytes(arguments)
        encryption = try EncryptionSettings(arguments)
    }

    /// The default directory, or nil when neither variable is set. Then the directory must be
    /// given.
    private static var defaultDirectory: String? {
        if let base = Environment["XDG_CACHE_HOME"], base.hasPrefix("/") { return base + "/spool" }
        guard let home = Environment["HOME"], !home.isEmpty else { return nil }
        #if canImport(Darwin)
        return home + "/Library/Caches/spool"
        #else
        return home + "/.cache/spool"
        #endif
    }

    private static func fetchPolicy(_ text: String) -> FetchPolicy? {
        switch text {
        case "while-playing": return .whilePlaying
        case "whole": return .wholeResource
        default:
            guard text.hasPrefix("read-ahead=") else { return nil }
            return ByteCount.parse(String(text.dropFirst("read-ahead=".count))).map { .readAhead(bytes: $0) }
        }
    }

    /// Returns the level of the flags. `--verbose` on the command line is stronger than a level in
    /// a file.
    private static func logLevel(_ arguments: Arguments, default level: LogLevel) throws(UsageError) -> LogLevel {
        let given = try arguments.value(Self.level, expected: "trace, debug, info, notice, warning or error") { name in
            let name = name == "warn" ? "warning" : name
            return LogLevel.allCases.first { "\($0)" == name && $0 != .critical }
        }
        if arguments.has(verbose), given == nil || (arguments.isGiven(verbose) && !arguments.isGiven(Self.level)) { return .debug }
        return given ?? level
    }

    private static func readAheadBytes(_ text: String) -> Int64? {
        ByteCount.parse(text).flatMap { $0 >= 65_536 ? $0 : nil }
    }

    /// Returns the path of a readable file, or nil. Without this check, libcurl would report a
    /// missing file at each request only, and as if the origin's certificate were wrong.
    private static func readableFile(_ path: String) -> String? {
        access(path, R_OK) == 0 ? path : nil
    }

    // MARK: Opening

    /// The directory of the store.
    func directory() throws(Failure) -> String {
        if let directory = configuration.storage.directory { return directory }
        throw Failure("there is no HOME to keep the store in; give \(Self.directory.spelling) DIR", .usage)
    }

    /// Opens the store for reading and writing. When a server has the store, the cache reads it and
    /// fetches through that server.
    ///
    /// - Parameter tellsOfOwner: Whether the log names the process that has the store.
    func open(log: StandardErrorLog? = nil, tellsOfOwner: Bool = true) throws -> MediaCache {
        let directory = try directory()
        let server = RunningServer.announced(in: directory)
        let asksServer = Locked(false)
        var configuration = configuration
        configuration.log = log
        headers.apply(to: &configuration, log)
        let isAsked = server != nil && headers.isEmpty
        if let server, isAsked {
            configuration.network.tiers.append(TierSetting { base, _ in (ServerTransport(base, server: server, isInUse: asksServer), nil) })
            configuration.network.tierStores = { asksServer.withLock { $0 } }
        }
        let cache = try cache(configuration)
        guard !cache.store.isWritable else { return cache }
        asksServer.withLock { $0 = isAsked }
        if let log, tellsOfOwner { tell(log, of: server) }
        return cache
    }

    /// The pause between two looks at a store that another command has.
    private static let waitInterval: Duration = .milliseconds(200)

    /// Opens the store as `open` does, and waits as long as another command has it. That command
    /// may store the bytes that this one is about to ask for. An interruption ends the waiting.
    func openOrWait(log: StandardErrorLog, _ interruption: Interruption) async throws -> MediaCache {
        let directory = try directory()
        var hasTold = false
        while true {
            let cache = try open(log: log, tellsOfOwner: false)
            guard !cache.store.isWritable, !cache.configuration.network.tierStores(), interruption.signal == nil,
                RunningServer.announced(in: directory) == nil, let holder = StoreHolder.command(in: directory)
            else {
                if !cache.store.isWritable { tell(log, of: RunningServer.announced(in: directory)) }
                return cache
            }
            await cache.close()
            if !hasTold { OutputStream.error.say("spool: process \(holder), another command, has the store; waiting for its end") }
            hasTold = true
            try await Task.sleep(for: Self.waitInterval)
        }
    }

    /// Logs which process has the store when it is not this one, and whether fetched bytes are
    /// kept.
    private func tell(_ log: StandardErrorLog, of server: RunningServer?) {
        guard let server else {
            return log.log(
                .warning, "another process has the store, or its disk is full: stored bytes are served, and fetched bytes are not kept")
        }
        let owner = "the server at \(server.publicAddress)" + (server.process.map { " (process \($0))" } ?? "")
        if !headers.isEmpty {
            let flags = "\(HeaderSettings.header.spelling), \(HeaderSettings.headerFor.spelling) or \(HeaderSettings.cookies.spelling)"
            log.log(.warning, "\(owner) has the store: bytes that are fetched with \(flags) are not kept; give them to the server")
        } else {
            log.log(.info, "\(owner) has the store: requests go through it, and it keeps the bytes")
        }
    }

    /// Throws when the directory has no store. The directory may be mistyped.
    func requireStore() throws {
        let directory = try directory()
        guard try hasStore(directory) else { throw Failure.noStore(directory) }
    }

    /// Opens the store for reading.
    ///
    /// - Throws: `Failure` when there is no store.
    func openToRead() throws -> MediaCache {
        guard let cache = try openToLook() else { throw Failure.noStore(try directory()) }
        return cache
    }

    /// Opens an existing store for reading and writing. Does not create one.
    ///
    /// - Parameter other: A key to use in place of the one that the flags give.
    /// - Returns: The cache, or nil without a store.
    func openExisting(by other: EncryptionOptions? = nil) throws -> MediaCache? {
        try hasStore(directory()) ? cache(configuration, by: other) : nil
    }

    private func hasStore(_ directory: String) throws -> Bool { try POSIXFileSystem().status(directory + "/spool.sqlite") != nil }

    /// Opens an existing store for reading. Does not create one.
    ///
    /// - Returns: The cache, or nil without a store.
    func openToLook() throws -> MediaCache? {
        let directory = try directory()
        guard try hasStore(directory) else { return nil }
        // A server that was killed does not answer. Then the store on disk has all that there is to
        // see.
        if let server = RunningServer.announced(in: directory) { do { try server.enterReceived() } catch {} }
        var configuration = configuration
        configuration.storage.isReadOnly = true
        return try cache(configuration)
    }

    private func cache(_ given: Configuration, by other: EncryptionOptions? = nil) throws -> MediaCache {
        var configuration = given
        configuration.readsDASH = true
        if let directory = configuration.storage.directory { configuration.limits = try limits(in: directory) }
        configuration.security.encryption = if let other { other } else { try encryption.options() }
        do throws(CacheError) {
            let cache = try MediaCache(configuration: configuration)
            HistoryKeeper.of(cache)
            return cache
        } catch {
            guard case StoreError.key(.missing)? = error.cause else { throw error }
            let flags = "\(EncryptionSettings.keyFile.spelling) or \(EncryptionSettings.passphraseFile.spelling)"
            throw Failure("\(error.message) (\(flags))")
        }
    }

    // MARK: Limits

    /// Whether this command decides how large the store may be, as a server does. Any other command
    /// without a quota evicts nothing below the size that it finds.
    var decidesOnSize = false

    /// Returns the limits for a store: those of this command, then those that the store keeps, then
    /// the defaults.
    func limits(in directory: String) throws -> StorageLimits {
        let stored = try StoredLimits.read(in: directory)
        var limits = StorageLimits()
        for flag in LimitFlags.all {
            if let own = ownLimits[flag.name] {
                _ = LimitFlags.set(flag, own, in: &limits)
            } else if let kept = stored[flag], !LimitFlags.set(flag, kept, in: &limits) {
                throw Failure(
                    "the store at \(directory) has the invalid limit '\(flag.name)=\(kept)'; set it by 'spool limits'")
            }
        }
        let isDecided = ownLimits[LimitFlags.quota.name] != nil || (decidesOnSize && stored[LimitFlags.quota] != nil)
        limits.keepsPresentSize = !isDecided
        return limits
    }

    /// Returns the limits of `limits(in:)` as text, in the order of their flags.
    func limitTexts(in directory: String) throws(SystemError) -> [(name: String, value: String)] {
        let stored = try StoredLimits.read(in: directory)
        return LimitFlags.all.map { flag in
            (flag.name, ownLimits[flag.name] ?? stored[flag] ?? LimitFlags.defaultText(flag))
        }
    }

    /// Returns the limits that a store keeps from an earlier command, and this one does not give.
    func limitsSetEarlier(in directory: String) throws(SystemError) -> [String] {
        let stored = try StoredLimits.read(in: directory)
        return LimitFlags.all.compactMap { flag in
            ownLimits[flag.name] == nil ? stored[flag].map { "\(flag.name) \($0)" } : nil
        }
    }

    /// Returns the quota of the server that has the store, else the one that the store keeps, else
    /// the default; nil for none.
    func quotaBytes() throws -> Int64? {
        let directory = try directory()
        // A server that was killed does not answer, and its limits no longer count.
        if let answer = try? RunningServer.announced(in: directory)?.status(), let store = JSON(text: answer)?["store"] {
            return store["quotaBytes"]?.integer
        }
        return try limits(in: directory).quotaBytes
    }

    /// Writes the limits of the command line into the store, for later commands.
    func keepLimits(in directory: String) throws(SystemError) {
        guard !givenLimits.isEmpty else { return }
        var stored = try StoredLimits.read(in: directory)
        stored.take(givenLimits)
        try stored.write(in: directory)
    }

    /// Returns the server that has the store, for a command that has to change the store through
    /// it.
    func server() throws -> RunningServer {
        let directory = try directory()
        if let server = RunningServer.announced(in: directory) { return server }
        throw Failure(
            "the store at \(directory) can't be changed: a process other than 'spool serve' has it, or its disk is"
                + " full; stop that process, or free some room", .inputOutput)
    }

    /// Returns the reason why the bytes of a resource are not stored, from the process that has the
    /// store. A server that was killed does not answer, so the result is nil.
    func notStoredBecause(_ key: ResourceKey, in cache: MediaCache) async throws -> String? {
        guard !cache.store.isWritable else { return try await cache.status(of: key)?.notStoredBecause }
        guard let reason = try? RunningServer.announced(in: directory())?.notStoredBecause(key) else { return nil }
        return reason
    }

    /// Opens the store, and runs `body` with the server that has it, or with nil when this process
    /// writes the store.
    func changing<Result>(_ body: (MediaCache, RunningServer?) async throws -> Result) async throws -> Result {
        let cache = try open()
        return try await cache.closing { try await body(cache, cache.store.isWritable ? nil : try server()) }
    }

    func makeLog() -> StandardErrorLog { StandardErrorLog(level: logLevel, format: logFormat) }
}

extension MediaCache {
    /// Runs `body`, then closes the cache, also after an error.
    func closing<Result>(after body: () async throws -> Result) async throws -> Result {
        do {
            let result = try await body()
            await close()
            return result
        } catch {
            await close()
            throw error
        }
    }
}
