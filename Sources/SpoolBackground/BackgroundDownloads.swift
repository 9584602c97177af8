#if !os(watchOS)
import Dispatch
package import SpoolCore
package import SpoolAVFoundation
import SpoolOrigin
import SpoolSystem

#if canImport(Darwin)
public import Spool
#else
package import Spool
#endif

/// Continues the downloads of a cache while the app is suspended or terminated.
///
/// Create it at each launch, before `cache.downloads.start()`, and keep it as long as the cache.
/// When the app leaves the foreground, each running file of `cache.downloads` continues in a
/// background `URLSession`, at its first missing byte, until the system has the rest. The system
/// asks for it with `Range` and `If-Range`, and leaves a file. The file passes into the store like a
/// response of the origin: its range, length and version must be those that were asked for, and its
/// bytes get the store's checks. A file that does not fit is deleted, and an event reports it.
///
/// A resource whose stored version has no strong entity tag waits for the app instead.
///
/// <!-- not compiled: UIKit exists on Apple's systems only -->
/// ```swift
/// func application(
///     _ application: UIApplication, handleEventsForBackgroundURLSession identifier: String,
///     completionHandler: @escaping () -> Void
/// ) {
///     if !downloads.handleEvents(ofSession: identifier, completionHandler: completionHandler) {
///         completionHandler()
///     }
/// }
/// ```
public final class BackgroundDownloads: Sendable {
    /// The identifier of the background session.
    public let identifier: String
    private let core: BackgroundCore

    #if canImport(Darwin)
    /// Takes over the downloads of `cache`, and stores the files that the system has finished
    /// meanwhile.
    ///
    /// - Parameters:
    ///   - cache: The cache of the downloads. It must use the default transport, or one of the
    ///     configuration.
    ///   - identifier: The identifier of the session, the same at each launch and used by nothing
    ///     else in the app.
    ///   - sharedContainerIdentifier: The App Group of an app extension, or nil.
    public convenience init(cache: MediaCache, identifier: String, sharedContainerIdentifier: String? = nil) {
        self.init(cache: cache, identifier: identifier, queue: LoaderQueue.make()) { core in
            SystemBackgroundSession(core, identifier: identifier, container: sharedContainerIdentifier)
        }
    }
    #endif

    /// Takes over the downloads of `cache` with a session of the caller.
    package init(
        cache: MediaCache, identifier: String, queue: LoaderQueue, makeSession: (BackgroundCore) -> any BackgroundSession
    ) {
        self.identifier = identifier
        core = BackgroundCore(cache: cache, mailbox: queue.mailbox)
        core.begin(makeSession(core))
    }

    /// Stores the files of a session for which the system has woken the app.
    ///
    /// - Parameters:
    ///   - identifier: The identifier that the application delegate received.
    ///   - completionHandler: The handler that the application delegate received. It is called on
    ///     the main queue when every file is stored.
    /// - Returns: False if the identifier is of another session. The handler is not called then.
    public func handleEvents(ofSession identifier: String, completionHandler: @escaping () -> Void) -> Bool {
        guard identifier == self.identifier else { return false }
        core.woken(CompletionHandler(completionHandler))
        return true
    }
}

/// A session of the system whose tasks go on while the app is suspended. It calls the core back.
package protocol BackgroundSession: AnyObject, Sendable {
    /// Starts a task with `download.label`. Returns its number, or nil if the system cannot do it.
    func start(_ download: HandOver) -> Int?
    /// Cancels a task.
    func cancel(_ task: Int)
}

/// A handler of UIKit, which is called on the main queue.
package final class CompletionHandler: @unchecked Sendable {
    // Safe to share: the handler is called once, on the main queue.
    private let call: () -> Void

    /// Wraps a handler.
    package init(_ call: @escaping () -> Void) { self.call = call }

    func finish() { DispatchQueue.main.async { self.call() } }
}

/// Acts on the decisions about background downloads of one cache.
package final class BackgroundCore: BackgroundKeeper {
    private struct State {
        var machine = BackgroundTransferMachine()
        var session: (any BackgroundSession)?
        var handlers: [CompletionHandler] = []
        /// The files that arrived and are not stored.
        var files: [ResourceKey: (path: String, file: ReceivedFile)] = [:]
        /// The preloads that store them.
        var readers: [ResourceKey: Preload] = [:]
    }

    /// The pause before the next attempt to store a file whose request the network policy refused.
    private static let refusalPause: Nanoseconds = .seconds(5)

    private let cache: MediaCache
    private let use: CacheUse
    private let mailbox: any Mailbox
    private let state = Locked(State())

    init(cache: MediaCache, mailbox: any Mailbox) {
        self.cache = cache
        self.mailbox = mailbox
        use = DoorState.of(cache).use
    }

    func begin(_ session: any BackgroundSession) {
        state.withLock { $0.session = session }
        use.setBackground(self)
    }

    #if !os(Linux)
    /// The `User-Agent` of requests without one, or nil for that of the session.
    var userAgent: String? { cache.configuration.network.userAgent.text }
    #endif

    // MARK: From the app

    /// Passes downloads to the system.
    package func take(_ downloads: [ListedTransfer]) { run { $0.suspended(downloads.compactMap(HandOver.init)) } }

    /// Whether the system continues the download of this resource, or its file is being stored.
    package func keeps(_ key: ResourceKey) -> Bool { state.withLock { $0.machine.keeps(key) } }

    /// Called when the app's download of this resource has ended or is paused.
    package func abandoned(_ key: ResourceKey) { run { $0.abandoned(key) } }

    func woken(_ handler: CompletionHandler) {
        state.withLock { $0.handlers.append(handler) }
        use.woken()
        run { $0.woken() }
    }

    // MARK: From the session

    /// Receives the unfinished tasks that the system has from an earlier process. The download of a
    /// task whose label is not readable is nil.
    package func found(_ tasks: [(task: Int, download: HandOver?)]) {
        run { $0.found(tasks) }
        use.holdDownloads(keptBy: self)
    }

    /// Receives a finished file. The core owns it from now on.
    package func arrived(_ download: HandOver?, head: ResponseHead?, path: String) {
        var checked: Result<ReceivedFile, Unusable>?
        if let download { checked = check(download, head, path) }
        var refusal: String?
        if case .failure(let reason) = checked { refusal = reason.words }
        let (actions, isStored) = state.withLock { state in
            let actions = state.machine.arrived(download, refusal: refusal)
            guard let download, case .success(let file) = checked, actions.contains(.store(download)) else { return (actions, false) }
            state.files[download.key] = (path, file)
            return (actions, true)
        }
        if !isStored { delete(path) }
        for action in actions { perform(action) }
    }

    /// Receives the files that an earlier process got, and did not store before its end.
    package func adopt(_ files: DownloadFiles) {
        do {
            for (path, download, head) in try files.leftovers() { arrived(download, head: head, path: path) }
        } catch { cache.record(.storeTrouble("the system's downloads of an earlier launch: \(error)")) }
    }

    /// Receives the end of a task without a file.
    package func failed(_ download: HandOver?) {
        let isInBackground = use.isHeld
        run { $0.failed(download, isInBackground: isInBackground) }
    }

    /// Receives the end of the events of a wake-up.
    package func eventsDelivered() { run { $0.eventsDelivered() } }

    private struct Unusable: Error {
        var words: String
    }

    private func check(_ download: HandOver, _ head: ResponseHead?, _ path: String) -> Result<ReceivedFile, Unusable> {
        guard let head else { return .failure(Unusable(words: "it has no response of HTTP")) }
        do throws(SystemError) {
            let file = try POSIXFileSystem().open(path, .read)
            let size = try file.status().size
            do throws(ReceivedFile.Refusal) {
                return .success(
                    try ReceivedFile(head, for: download.request, fields: download.fields, fileBytes: size) { buffer, offset in
                        do { return try file.read(into: buffer, at: offset) } catch { return nil }
                    })
            } catch { return .failure(Unusable(words: error.description)) }
        } catch { return .failure(Unusable(words: "\(error)")) }
    }

    // MARK: Acting

    private func run(_ event: (inout BackgroundTransferMachine) -> [BackgroundTransferMachine.Action]) {
        for action in state.withLock({ event(&$0.machine) }) { perform(action) }
    }

    private func perform(_ action: BackgroundTransferMachine.Action) {
        let session = state.withLock { $0.session }
        switch action {
        case .start(let download):
            guard let task = session?.start(download) else { return run { $0.failed(download, isInBackground: false) } }
            state.withLock { $0.machine.started(task, download.key) }
        case .cancel(let task): session?.cancel(task)
        case .store(let download): store(download)
        case .drop(let download, let reason):
            let name = download.map { $0.key.forLog } ?? "an unknown resource"
            cache.record(.storeTrouble("the system's download of \(name) is not used: \(reason)"))
        case .release(let key): use.release(key)
        case .finishEvents:
            let handlers = state.withLock { exchange(&$0.handlers, with: []) }
            // The locks are released first, because the system suspends the process soon after.
            use.restIfIdle()
            for handler in handlers { handler.finish() }
        }
    }

    /// Lets a reader of the cache fetch the missing bytes. The file answers its requests.
    private func store(_ download: HandOver) {
        guard let transport = cache.environment.transport as? ReceivedFilesTransport,
            let arrived = state.withLock({ $0.files[download.key] }), transport.offer(arrived.file)
        else { return stored(download, .failure(CacheError(.notStored, "the cache's transport takes no files", key: download.key))) }
        use.note(download.key, isStoring: true)
        use.wake()
        read(download)
    }

    private func read(_ download: HandOver) {
        var options = ReadOptions(fetchPolicy: .wholeResource)
        options.priority = .prefetch
        options.requestFields = download.fields
        options.access = download.access
        let reader = Preload.wholeResource(in: cache, download.request.url, key: download.key, options: options, mailbox: mailbox)
        state.withLock { $0.readers[download.key] = reader }
        reader.whenOver { [weak self, mailbox] result in mailbox.post { [weak self] in self?.wasRead(download, result.map { _ in }) } }
    }

    private func wasRead(_ download: HandOver, _ result: Result<Void, CacheError>) {
        guard case .failure(let error) = result, error.code == .networkRefused else { return stored(download, result) }
        _ = cache.environment.time.after(Self.refusalPause, on: mailbox) { [weak self] in self?.read(download) }
    }

    private func stored(_ download: HandOver, _ result: Result<Void, CacheError>) {
        (cache.environment.transport as? ReceivedFilesTransport)?.withdraw(download.request.url)
        // The reader is released outside of the lock.
        let (reader, arrived) = state.withLock { state in
            (state.readers.removeValue(forKey: download.key), state.files.removeValue(forKey: download.key))
        }
        defer { withExtendedLifetime(reader) {} }
        if let arrived { delete(arrived.path) }
        use.note(download.key, isStoring: false)
        if case .failure(let error) = result {
            cache.record(.storeTrouble("the system's download of \(download.key.forLog) is not stored: \(error.message)"))
        }
        run { $0.stored(download.key) }
    }

    private func delete(_ path: String) {
        do { try DownloadFiles.delete(path) } catch { cache.record(.storeTrouble("the system's download: \(error)")) }
    }
}
#endif
