public import SpoolCore
public import SpoolStore
public import SpoolOrigin
import SpoolSystem
#if !os(Linux)
public import Foundation

/// Receives an authentication challenge of `URLSession`, and calls `answer` once, on any thread.
public typealias URLSessionChallengeHandler =
    @Sendable (
        _ challenge: URLAuthenticationChallenge,
        _ answer: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) -> Void
#endif

/// The settings of a cache. Every bound has a unit, a default and a reason.
///
/// A cache copies its configuration when it is opened. Later changes to the value have no effect on
/// that cache.
public struct Configuration: Sendable {
    // MARK: The store

    /// The directory of the store, created if it is missing. Nil, the default, means the default
    /// directory of `name`.
    public var directory: String?
    /// The name of the default directory: `Caches/<name>` on Apple's systems,
    /// `$XDG_CACHE_HOME/<name>` elsewhere. The default is `spool`.
    public var name = "spool"
    /// The limits on stored bytes, and the policy that evicts when a limit is reached.
    public var limits = StorageLimits()
    // MARK: Fetching and freshness

    /// How far fetches go beyond readers. `ReadOptions.fetchPolicy` overrides it for one reader.
    public var fetchPolicy = FetchPolicy.whilePlaying
    /// Which responses are stored, and when stored bytes are used without asking the origin.
    /// `ReadOptions.cachePolicy` overrides the second part for one reader.
    public var cachePolicy = CachePolicy.preferStored
    /// Whether several users share the stored bytes. If true, `private` responses and responses to
    /// requests with credentials are not stored, and `s-maxage` counts (RFC 9111 §3). The default
    /// is false.
    public var isShared = false
    /// How the cache distinguishes versions, for hosts whose validators are missing or unreliable.
    /// The keys are host names in lower case, or `*` for all other hosts. `Identity` describes the
    /// cost of each way.
    public var identities: [String: Identity] = [:]
    /// The most bytes that are stored of one resource; at least 1. A larger resource is passed on
    /// and not stored. Nil, the default, means no limit.
    public var maximumResourceBytes: Int64?
    /// Changes the requests to origins just before they are sent, and refreshes credentials. Nil
    /// sends them unchanged.
    public var requestModifier: (any RequestModifier)?
    /// How far a fetch runs ahead of the furthest reader under `.whilePlaying`, in bytes; at least
    /// 65 536.
    ///
    /// The default is 4 MiB: some seconds of video at a high bit rate, and the most that is fetched
    /// in vain when the player seeks away.
    public var readAheadBytes: Int64 = 4 << 20
    /// The memory for received bytes on their way to the disk, in buffers of 1 MiB; at least 1. The
    /// default of 16 saturates a disk and bounds the memory.
    public var bufferCount = 16
    /// The most origin requests at once; at least 1. The default of 64 bounds descriptors and tails
    /// (64 KiB each).
    public var maximumFetches = 64
    /// The most origin requests at once to one host; at least 1. The default is 6, as in browsers.
    public var maximumFetchesPerHost = 6
    /// Whether the proxy hands out stored segments of an HLS or DASH presentation at the rate of the
    /// link to their origin, as long as a variant of the presentation is missing. Players choose
    /// variants by that rate. The default is false: stored bytes come as fast as possible.
    public var pacesStreams = false
    /// The rules that map URLs to keys.
    public var keyPolicy = KeyPolicy()
    /// Fields for every origin request, for example `User-Agent`. On a redirect to another origin,
    /// only fields that never carry credentials are kept, such as `Accept` and `User-Agent`.
    public var requestFields: HTTPFields = [:]
    /// Returns further fields for requests to one URL, such as a token or cookies of its host. Nil
    /// adds none.
    ///
    /// The cache calls the closure when a resource is first used, and for each redirect to another
    /// origin. It may call it on any thread, and the closure must not block. A field replaces those
    /// of the same name in `requestFields`.
    public var requestFieldsForURL: (@Sendable (_ url: String) -> HTTPFields)?
    /// The number of unused resources whose sessions stay in memory; at least 0. The default of 256
    /// takes a few hundred bytes each.
    public var idleSessionCount = 256
    /// The most descriptors that the store keeps for data files, besides those that are being sent
    /// to a client; at least 16.
    ///
    /// Nil means 64, or a quarter of the descriptors that the process may open if that is less. On
    /// Apple's systems a process may open 256, and the app around the cache needs most of them.
    /// With few descriptors a store opens and closes its files more often; it stores just as much.
    public var openFileCount: Int?
    /// The resources that the store may delete when the disk has no room to open it for writing.
    package var expendable: SQLiteStore.Expendable?
    /// Called for each file that the store deleted for that, with its resource, if known, and the
    /// bytes that it occupied.
    package var onExpended: @Sendable (ResourceKey?, Int64) -> Void = { _, _ in }
    /// Whether the store is opened for reading only. Then nothing is stored. The default is false.
    public var isReadOnly = false
    /// Encrypts everything that is stored: media, names, URLs and headers. Nil makes a plain store.
    /// A store is plain or encrypted from its creation on (docs/encryption.md).
    public var encryption: EncryptionOptions?
    /// Whether backups leave out the store; on Apple's systems. The default is true, because stored
    /// bytes can be fetched again. The whole directory of the store is marked, so use a directory
    /// for the store alone.
    public var isExcludedFromBackup = true
    /// When the system lets stored media be read; on iOS, tvOS and visionOS. With the default,
    /// music plays while the screen is locked.
    public var fileProtection = FileProtection.completeUntilFirstUserAuthentication
    /// Changes the bytes on their way from the store to every reader without a transform of its
    /// own. Nil returns them as the origin sent them.
    public var contentTransform: (any ContentTransform)?
    /// Whether a public host name may lead to a private address. The default allows it, for apps
    /// that choose their URLs themselves. Where others choose the URLs, as with `spool serve`, a
    /// name whose owner points it at a private address would open that network to them.
    public var privateNames = PrivateNames.allowed
    /// The path of a file of certificates (PEM) by which libcurl verifies private origins.
    /// `URLSession` has `onChallenge` for this.
    ///
    /// The file replaces the bundle of the system. libcurl also trusts the certificate directory of
    /// the system if it was built with one, as on Debian and Ubuntu.
    public var certificateFile: String?
    /// Whether libcurl uses HTTP/2 with TLS origins that offer it. HTTP/2 takes one connection for
    /// many requests, but each paused request buffers up to 64 KiB more than with HTTP/1.1. The
    /// default is false. `URLSession` chooses by itself.
    public var usesHTTP2 = false
    /// The transport to origins. Nil means that of the platform: `URLSession` on Apple's systems,
    /// libcurl elsewhere.
    ///
    /// Each cache needs a transport of its own. The cache follows redirects around it and closes it
    /// when the cache is closed.
    public var transport: (any Transport)?
    #if !os(Linux)
    /// Makes the configuration of the cache's one `URLSession`, for proxies, protocol classes,
    /// multipath and time-outs. The cache switches off its URL cache, cookies and credentials in
    /// any case, because media is stored here, and once.
    public var urlSessionConfiguration: (@Sendable () -> URLSessionConfiguration)?
    /// Answers the challenges of the session, for example for a pinned certificate or a client
    /// certificate. Nil means the trust of the system.
    public var onChallenge: URLSessionChallengeHandler?
    #endif
    /// The sinks that receive every event. They are called on any thread.
    public var events: [any EventSink] = []
    /// The sink for log lines. Nil writes no log.
    public var log: (any LogSink)?
    /// Whether lanes keep off the core of the transport's loop, on Linux. For programs that are
    /// only a server: threads that a library starts from a lane inherit the lane's set of cores and
    /// keep it.
    package var keepsLanesOffLoop = false
    /// Wraps the transport that follows redirects, for a program that asks a server other than the
    /// origin.
    package var transportAround: (@Sendable (any Transport) -> any Transport)?

    /// Creates a configuration with the defaults.
    public init() {}

    /// The limits on open data files, from the descriptors that the process may open now.
    var openFileLimits: OpenFileLimits {
        let share = DescriptorLimit.current / Self.descriptorShare
        return OpenFileLimits(descriptors: openFileCount ?? min(OpenFileLimits.appDescriptors, share))
    }

    /// The share of the descriptors of the process that data files take at most, as a divisor, if
    /// `openFileCount` is nil.
    package static let descriptorShare = 4

    /// Returns a message about the first value that is out of bounds, or nil.
    func complaint() -> String? {
        if readAheadBytes < 65_536 { return "readAheadBytes is \(readAheadBytes); it must be at least 65536" }
        if let complaint = limits.complaint() { return complaint }
        if let maximumResourceBytes, maximumResourceBytes < 1 {
            return "maximumResourceBytes is \(maximumResourceBytes); give at least 1, or nil for no limit"
        }
        if bufferCount < 1 { return "bufferCount is \(bufferCount); it must be at least 1" }
        if maximumFetches < 1 || maximumFetchesPerHost < 1 { return "maximumFetches and maximumFetchesPerHost must be at least 1" }
        if let openFileCount, openFileCount < OpenFileLimits.leastDescriptors {
            return "openFileCount is \(openFileCount); give at least \(OpenFileLimits.leastDescriptors), or nil for the default"
        }
        if idleSessionCount < 0 { return "idleSessionCount is \(idleSessionCount); it can't be negative" }
        return nil
    }
}
