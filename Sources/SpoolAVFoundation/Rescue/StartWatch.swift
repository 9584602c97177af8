#if !os(watchOS)
package import Foundation
import Spool
import SpoolCore
import SpoolSystem

/// Keeps the crash breaker of a cache across processes.
package final class StartWatch: Sendable {
    /// The record of a breaker outside the process.
    package struct Record: Sendable {
        /// Returns the record, or nil.
        package var load: @Sendable () -> CrashBreaker?
        /// Keeps the record. It must outlive a crash that follows at once.
        package var save: @Sendable (CrashBreaker) -> Void

        /// Creates a record.
        package init(load: @escaping @Sendable () -> CrashBreaker?, save: @escaping @Sendable (CrashBreaker) -> Void) {
            (self.load, self.save) = (load, save)
        }
    }

    /// The states of the process, in this order.
    private enum Phase { case waiting, opening, over }

    private struct State {
        var breaker: CrashBreaker
        var phase = Phase.waiting
    }

    private let state: Locked<State>
    private let record: Record
    private let now: @Sendable () -> Int64
    private let tokens: NoticeTokens

    /// The notifications after which an end of the process says nothing about the cache.
    private static let excuses = [
        "UIApplicationDidEnterBackgroundNotification", "UIApplicationWillTerminateNotification",
        "UIApplicationDidReceiveMemoryWarningNotification", "NSApplicationWillTerminateNotification",
    ]

    /// Begins the process.
    ///
    /// - Parameter now: Returns the seconds since 1970.
    package init(
        record: Record, build: String, isDebugged: Bool, center: NotificationCenter = .default, now: @escaping @Sendable () -> Int64
    ) {
        var breaker = record.load() ?? CrashBreaker(build: build)
        let before = breaker
        breaker.launched(build: build, isDebugged: isDebugged, now: now())
        if breaker != before { record.save(breaker) }
        state = Locked(State(breaker: breaker))
        (self.record, self.now) = (record, now)
        tokens = NoticeTokens(center: center)
        for name in Self.excuses { tokens.add(Notification.Name(name), of: nil) { [weak self] _ in self?.end { $0.excused() } } }
    }

    /// Whether the cache is bypassed.
    package var isOpen: Bool { state.withLock { $0.breaker.isOpen } }

    /// Sets the mark at the first item of the process.
    package func itemOpens() {
        save { state in
            guard state.phase == .waiting else { return false }
            state.phase = .opening
            state.breaker.itemOpens(now: now())
            return true
        }
    }

    /// Removes the mark, because the first item is ready.
    package func itemIsReady() { end { $0.itemIsReady() } }

    /// Removes the mark, because the first item failed or is gone.
    package func itemIsGone() { end { $0.excused() } }

    private func end(_ change: (inout CrashBreaker) -> Void) {
        save { state in
            guard state.phase == .opening else { return false }
            state.phase = .over
            change(&state.breaker)
            return true
        }
    }

    /// Changes the state, and keeps the breaker. The file is written inside the lock, so that a
    /// later state is written later.
    private func save(_ change: (inout State) -> Bool) {
        state.withLock { state in
            if change(&state) { record.save(state.breaker) }
        }
    }
}

extension StartWatch.Record {
    /// A file in the app's directory for caches.
    static func file(named name: String) -> StartWatch.Record? {
        guard let directory = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first else { return nil }
        let url = directory.appendingPathComponent("\(name).starts.json")
        return StartWatch.Record(
            load: {
                // No file, or a damaged one, is a first start.
                do { return try JSONDecoder().decode(CrashBreaker.self, from: Data(contentsOf: url)) } catch { return nil }
            },
            save: { breaker in
                // Without the file, a crash is not noticed. That must not harm the app.
                do { try JSONEncoder().encode(breaker).write(to: url, options: .atomic) } catch {}
            })
    }
}

extension CachingAssetFactory {
    /// Watches the starts of the app's processes by a record of a test.
    package func watchStarts(_ watch: StartWatch) { door.watchStarts(watch, of: cache) }
}

extension DoorState {
    /// Begins to watch the starts of the app's processes, and bypasses a cache that ended two.
    fileprivate func watchStarts(_ watch: StartWatch, of cache: MediaCache) {
        starts.withLock { $0 = watch }
        guard watch.isOpen else { return }
        cache.bypass.change("the app ended twice while an item opened") { $0.insert(.crashes) }
    }

    /// Watches the starts of this app. Other systems than Apple's have no record of them.
    func watchStarts(of cache: MediaCache) {
        #if canImport(Darwin)
        guard let record = StartWatch.Record.file(named: cache.configuration.storage.name) else { return }
        let app = Bundle.main.infoDictionary?["CFBundleVersion"] as? String ?? ""
        // launchd starts an app of the user, and a debugger starts its own.
        let isDebugged = getppid() != 1
        let time = cache.environment.time
        let watch = StartWatch(
            record: record, build: "\(app) \(ProcessInfo.processInfo.operatingSystemVersionString)", isDebugged: isDebugged,
            now: { time.wallNow.seconds })
        watchStarts(watch, of: cache)
        #endif
    }
}
#endif
