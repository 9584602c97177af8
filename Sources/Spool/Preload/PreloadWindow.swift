public import SpoolCore
public import SpoolManifests
import SpoolSystem

/// Keeps the beginnings of the items around a position in a feed or queue in the cache.
///
/// ```swift
/// let window = cache.preloadWindow(ahead: 3, behind: 1, .seconds(10))
/// window.move(to: 0, in: urls.map { PreloadWindow.Item(url: $0.absoluteString) })
/// window.move(to: 1)
/// ```
///
/// The window has the item at the position, the next ones, and some before it. Two items are
/// preloaded at a time, the most urgent first; the item that plays shares its requests with its
/// player. An item that leaves the window stops. Its bytes stay stored, and may be evicted again.
/// While an item is in the window, nothing evicts the bytes that the window fetched for it, and a
/// preload that finds no other room ends with `.noRoom`.
///
/// Releasing the window ends it. Safe to use from any thread.
public final class PreloadWindow: Sendable {
    /// One item of the list. Two items are equal if their URLs and keys are.
    public struct Item: Hashable, Sendable {
        /// An absolute `http` or `https` URL: a resource or the manifest of a presentation.
        public var url: String
        /// The identity in the cache, if the URL is not stable, or nil for the key of the URL.
        public var key: ResourceKey?
        /// Fields for the origin requests of the item besides those of the window's options, for
        /// example `Authorization`. Parts of a presentation at another origin get none.
        public var requestFields: HTTPFields {
            get { request.fields }
            set { request.fields = newValue }
        }
        /// How the origin is asked for the item.
        package var request = Request()

        /// How the origin is asked for an item. It is no part of the item's identity, so an item
        /// with a new token goes on.
        package struct Request: Hashable, Sendable {
            package var fields: HTTPFields = [:]
            /// The networks for the item, or nil for those of the window's options.
            package var access: NetworkAccess?

            package static func == (_: Request, _: Request) -> Bool { true }

            package func hash(into hasher: inout Hasher) {}
        }

        /// Creates an item.
        public init(url: String, key: ResourceKey? = nil, requestFields: HTTPFields = [:]) {
            self.url = url
            self.key = key
            request.fields = requestFields
        }
    }

    /// The state of an item in the window.
    public enum ItemState: Sendable {
        /// More urgent items come first.
        case waiting
        /// It is being preloaded.
        case running
        /// Its bytes are stored.
        case stored(PreloadResult)
        /// It could not be preloaded. It is tried again after it has left the window.
        case failed(CacheError)
    }

    private struct State {
        var plan: WindowPlan<Item>
        var items: [Item] = []
        /// The preloads of the items, also those that are over: they protect the bytes.
        var preloads: [Item: Preload] = [:]
        var states: [Item: ItemState] = [:]
        var isClosed = false
    }

    /// The items that are preloaded at the same time. Each may have several requests.
    private static let jobs = 2

    private let cache: MediaCache
    private let amount: PreloadAmount
    private let variant: PresentationSelection.Quality
    private let options: ReadOptions
    private let state: Locked<State>

    init(
        cache: MediaCache, ahead: Int, behind: Int, amount: PreloadAmount, variant: PresentationSelection.Quality, options: ReadOptions
    ) {
        self.cache = cache
        self.amount = amount
        self.variant = variant
        self.options = options
        state = Locked(State(plan: WindowPlan(ahead: ahead, behind: behind, jobs: Self.jobs)))
    }

    /// Moves the window in a list. The list replaces the one before.
    ///
    /// - Parameters:
    ///   - position: The index of the item that plays. With an index outside of the list, the
    ///     window is empty.
    ///   - items: All items in the order in which they play.
    public func move(to position: Int, in items: [Item]) {
        act { state in
            state.items = items
            return state.plan.moved(to: position, in: items)
        }
    }

    /// Moves the window in the present list.
    public func move(to position: Int) {
        act { state in state.plan.moved(to: position, in: state.items) }
    }

    /// Ends all preloads and the protection of their bytes.
    public func close() {
        act { state in
            defer { state.isClosed = true }
            return state.plan.moved(to: 0, in: [])
        }
    }

    /// The state of an item, or nil for one outside of the window.
    public func state(of item: Item) -> ItemState? {
        state.withLock { state in
            guard state.plan.window.contains(item) else { return nil }
            return state.states[item] ?? .waiting
        }
    }

    // MARK: Acting

    private func act(_ event: (inout State) -> [WindowPlan<Item>.Action]) {
        let (ended, started) = state.withLock { state -> ([Preload], [Item]) in
            guard !state.isClosed else { return ([], []) }
            var ended: [Preload] = []
            var started: [Item] = []
            for action in event(&state) {
                switch action {
                case .start(let item):
                    state.states[item] = .running
                    started.append(item)
                case .stop(let item), .drop(let item):
                    state.states[item] = action == .stop(item) ? .waiting : nil
                    if let preload = state.preloads.removeValue(forKey: item) { ended.append(preload) }
                }
            }
            return (ended, started)
        }
        for preload in ended { preload.cancel() }
        for item in started { start(item) }
    }

    private func start(_ item: Item) {
        var options = options
        options.requestFields = options.requestFields.replacing(with: item.requestFields)
        options.access = item.request.access ?? options.access
        do throws(CacheError) {
            let preload = try Preload.made(
                in: cache, item.url, amount, selection: Preload.beginning(variant), key: item.key, priority: .upcoming, options: options
            ) { $0.protects = true }
            let isWanted = state.withLock { state in
                // The window may have moved on another thread meanwhile.
                guard case .running = state.states[item], state.preloads[item] == nil else { return false }
                state.preloads[item] = preload
                return true
            }
            guard isWanted else { return }
            preload.whenOver { [weak self, weak preload] result in self?.finished(item, preload, result) }
            preload.begin()
        } catch {
            finished(item, nil, .failure(error))
        }
    }

    private func finished(_ item: Item, _ preload: Preload?, _ result: Result<PreloadResult, CacheError>) {
        act { state in
            guard case .running = state.states[item], state.preloads[item] === preload else { return [] }
            switch result {
            case .success(let result): state.states[item] = .stored(result)
            case .failure(let error): state.states[item] = .failed(error)
            }
            return state.plan.finished(item)
        }
    }
}

extension MediaCache {
    /// Returns a window that keeps the beginnings of the items around a position of a feed or
    /// queue. It is empty until its first `move(to:in:)`.
    ///
    /// - Parameters:
    ///   - ahead: The number of items behind the one that plays.
    ///   - behind: The number of items before it.
    ///   - amount: How much of each item is kept.
    ///   - variant: The variant of presentations.
    ///   - options: The settings in which its reads differ from the configuration. The window sets
    ///     `fetchPolicy` and `priority` itself.
    public func preloadWindow(
        ahead: Int = 2, behind: Int = 1, _ amount: PreloadAmount = .seconds(10), variant: PresentationSelection.Quality = .initial,
        options: ReadOptions = ReadOptions()
    ) -> PreloadWindow {
        PreloadWindow(cache: self, ahead: ahead, behind: behind, amount: amount, variant: variant, options: options)
    }
}
