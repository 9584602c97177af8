package import SpoolCore
package import SpoolOrigin
package import SpoolStore
package import SpoolSystem

/// A server that a cache asks before the origin, as a program configures it. `SpoolTiers` has a
/// bucket, a parent, and the server that has the store.
package struct TierSetting: Sendable {
    /// The parts of a cache that is being opened.
    package struct Parts: Sendable {
        /// Sends requests to the tier itself. It follows no redirects.
        package var wire: any Transport
        /// The clocks and timers of the cache.
        package var time: any TimeSource
        /// Runs timers.
        package var control: any Mailbox
        /// The rule that turns a URL into the key of a resource.
        package var keyPolicy: KeyPolicy
        /// Whether the cache serves several users.
        package var isShared: Bool
        /// The sink for log lines, or nil.
        package var log: (any LogSink)?
    }

    /// Whether the tier holds bytes as the origin sends them. It cannot go with an encrypted store.
    package let holdsClearBytes: Bool
    /// Returns the transport that asks the tier, around one that asks origins, and the service of
    /// the tier in an open cache, if it has one.
    package let open: @Sendable (_ base: any Transport, _ parts: Parts) -> (any Transport, (any TierService)?)

    /// Creates the setting of a tier.
    package init(
        holdsClearBytes: Bool = false,
        open: @escaping @Sendable (_ base: any Transport, _ parts: Parts) -> (any Transport, (any TierService)?)
    ) {
        self.holdsClearBytes = holdsClearBytes
        self.open = open
    }
}

/// A tier in an open cache. It gets every event.
package protocol TierService: EventSink {
    /// The counts since the cache was opened.
    var report: TierReport { get }
    /// Begins to work for a cache. It must drop `host` in `close`.
    func connect(_ host: any TierHost)
    /// Ends its work. Called at least once, when the cache closes.
    func close()
}

/// The parts of an open cache that a tier uses.
package protocol TierHost: AnyObject, Sendable {
    /// The store. Its index calls run in `onIndexLane`.
    var store: any ResourceStore { get }
    /// Whether the cache is closed.
    var isClosed: Bool { get }
    /// Whether a player waits for bytes of an origin.
    var servesPlayers: Bool { get }
    /// Passes an event to every sink. Callable on any thread, outside every lock.
    var record: @Sendable (CacheEvent) -> Void { get }

    /// Runs a call of the store on the index lane, or fails at once if the cache is closed.
    func onIndexLane<Value: Sendable>(
        _ key: ResourceKey?, _ done: @escaping Completion<Value>,
        _ body: @escaping @Sendable () throws(StoreError) -> Value)
    /// Posts a job to the lane that reads the file of a version.
    func onDataLane(of generation: GenerationID, _ job: @escaping @Sendable () -> Void)
    /// Enters the written bytes of a resource into the index. Called on the index lane.
    ///
    /// - Returns: False, without an entry, if the resource is still on its way.
    func enterWritten(of key: ResourceKey) -> Bool
    /// Protects a resource from eviction while the pin lives.
    func temporaryPin(of key: ResourceKey) -> TemporaryPin
}

/// The counts of a tier, with their names for programs.
package struct TierReport: Sendable {
    /// One count. It only grows.
    package struct Count: Sendable {
        /// The name in JSON.
        package var name: String
        package var value: Int64
        /// The name and the help text in the format of Prometheus, or nil for a count that is not a
        /// metric.
        package var metric: (name: String, help: String)?

        /// Creates a count.
        package init(_ name: String, _ value: Int64, metric: (name: String, help: String)? = nil) {
            (self.name, self.value, self.metric) = (name, value, metric)
        }
    }

    /// The name of the tier in JSON.
    package var name: String
    /// The counts, in the order in which they are shown.
    package var counts: [Count]

    /// Creates a report.
    package init(name: String, counts: [Count]) {
        (self.name, self.counts) = (name, counts)
    }
}
