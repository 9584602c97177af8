/// An event of a server that a cache asks before the origin, such as a bucket. The module of that
/// server declares its events.
public protocol TierEvent: Sendable {
    /// The name of the event for programs, such as `bucketRests`.
    var name: String { get }
    /// The severity of its log line. From `.notice` on, the proxy's page shows it too.
    var level: LogLevel { get }
    /// The event in words for people.
    var sentence: String { get }
    /// The resource, or nil if the event concerns none.
    var key: ResourceKey? { get }
}
