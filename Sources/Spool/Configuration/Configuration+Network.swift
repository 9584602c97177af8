public import SpoolCore
public import SpoolOrigin
#if !os(Linux)
public import Foundation
import SpoolURLSession

/// Receives an authentication challenge of `URLSession`, and calls `answer` once, on any thread.
public typealias URLSessionChallengeHandler =
    @Sendable (
        _ challenge: URLAuthenticationChallenge,
        _ answer: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) -> Void
#endif

extension Configuration {
    /// The requests to origins, and the transport that sends them.
    public struct Network: Sendable {
        /// Fields for every origin request, for example `User-Agent`. On a redirect to another
        /// origin, only fields that never carry credentials are kept, such as `Accept` and
        /// `User-Agent`.
        public var requestFields: HTTPFields = [:]
        /// Returns further fields for requests to one URL, such as a token or cookies of its host.
        /// Nil adds none.
        ///
        /// The cache calls the closure when a resource is first used, and for each redirect to
        /// another origin. It may call it on any thread, and the closure must not block. A field
        /// replaces those of the same name in `requestFields`.
        public var requestFieldsForURL: (@Sendable (_ url: String) -> HTTPFields)?
        /// Changes the requests to origins just before they are sent, and refreshes credentials.
        /// Nil sends them unchanged.
        public var requestModifier: (any RequestModifier)?
        /// The path of a file of certificates (PEM) by which libcurl verifies private origins.
        /// `URLSession` has `onChallenge` for this.
        ///
        /// The file replaces the bundle of the system. libcurl also trusts the certificate
        /// directory of the system if it was built with one, as on Debian and Ubuntu.
        public var certificateFile: String?
        /// Whether libcurl uses HTTP/2 with TLS origins that offer it. HTTP/2 takes one connection
        /// for many requests, but each paused request buffers up to 64 KiB more than with HTTP/1.1.
        /// The default is false. `URLSession` chooses by itself.
        public var usesHTTP2 = false
        /// The transport to origins. Nil means that of the platform: `URLSession` on Apple's
        /// systems, libcurl elsewhere.
        ///
        /// Each cache needs a transport of its own. The cache follows redirects around it and
        /// closes it when the cache is closed.
        public var transport: (any Transport)?
        #if !os(Linux)
        /// Makes the configuration of the cache's one `URLSession`, for proxies, protocol classes,
        /// multipath and time-outs. The cache switches off its URL cache, cookies and credentials
        /// in any case, because media is stored here, and once. It also switches off
        /// `waitsForConnectivity`, because it retries by itself. Its `networkServiceType` stays. A
        /// background configuration is an error of the opening.
        public var urlSessionConfiguration: (@Sendable () -> URLSessionConfiguration)?
        /// Answers the challenges of the session, for example for a pinned certificate or a client
        /// certificate. Nil means the trust of the system.
        public var onChallenge: URLSessionChallengeHandler?
        /// The `User-Agent` of origin requests for which the app and its player give none.
        public var userAgent = UserAgent.likeSession

        /// A value of `User-Agent`.
        public enum UserAgent: Sendable {
            /// That of `URLSession`, which names the app and its version.
            case likeSession
            /// That of AVPlayer for media without a cache, by which statistics of podcasts count:
            /// `AppleCoreMedia/1.0.0.BUILD (DEVICE; U; CPU OS 17_5 like Mac OS X; de_de)`.
            ///
            /// It follows the system's build and version, the kind of device, and the language and
            /// region when the cache opens, and does not name the app. Apple documents no form;
            /// logs show this one for iPhone, iPad, Apple TV and Mac. visionOS has `likeSession`.
            case likePlayer

            /// The value, or nil for that of the session.
            package var text: String? { self == .likePlayer ? PlayerUserAgent.ofSystem : nil }
        }
        #endif
        /// How long an origin may take before a request fails. `ReadOptions.patience` overrides it
        /// for one resource.
        public var patience = OriginPatience()
        /// The same for single hosts. The keys are host names in lower case.
        public var patienceForHosts: [String: OriginPatience] = [:]
        /// The conditions under which requests may run, such as the network and Low Power Mode. The
        /// default permits all. `MediaCache.networkPolicy` changes it while the cache is open, and
        /// `ReadOptions.access` overrides it for one reader.
        public var policy = NetworkPolicy()
        /// Reports the conditions to which `policy` applies. Nil means the monitor of the system,
        /// on Apple's systems; elsewhere nothing is reported, and every request is permitted.
        public var monitor: (any NetworkMonitor)?
        /// The most of the bandwidth that preloads and downloads use together while bytes for a
        /// player are on their way, from 0 to 1. The default is 0.5. They use all of it while no
        /// player needs bytes from an origin, and none while a player waits for bytes. Below 1,
        /// they also use none in the first ten seconds in which bytes for a player arrive.
        ///
        /// All hosts count as one link, because a device has one. Readers with the priority
        /// `.playing` are players.
        public var shareBesidePlayers = 0.5
        /// Whether lanes keep off the core of the transport's loop, on Linux. For programs that are
        /// only a server: threads that a library starts from a lane inherit the lane's set of cores
        /// and keep it.
        package var keepsLanesOffLoop = false
        /// Whether the log has the lines of `OriginOutages`. A command that fetches once reports an
        /// error itself.
        package var logsOutages = true
        /// The servers that are asked before the origin. Each one is asked before those that stand
        /// in front of it in this list.
        package var tiers: [TierSetting] = []
        /// Whether one of the tiers is the process that has the store, and keeps there what it
        /// sends.
        package var tierStores: @Sendable () -> Bool = { false }

        /// Creates the default settings.
        public init() {}

        /// How long the origin with this host may take.
        package func patience(forHost host: String) -> OriginPatience { patienceForHosts[host] ?? patience }

        /// Throws an error about the first value that is out of bounds.
        func validate() throws(CacheError) {
            try Configuration.require(
                ([patience] + patienceForHosts.values).allSatisfy(\.isValid),
                "a time of network.patience is out of bounds; give between 1 millisecond and 1 hour")
            try Configuration.require(
                (0...1).contains(shareBesidePlayers), "network.shareBesidePlayers is \(shareBesidePlayers); give between 0 and 1")
            try Configuration.require(
                OriginPatience.bounds.contains(policy.patience),
                "network.policy.patience is \(policy.patience); give between 1 millisecond and 1 hour")
        }
    }
}

extension Configuration.Network {
    /// A new monitor of the system's network, or nil where there is none.
    package static var systemMonitor: (any NetworkMonitor)? {
        #if canImport(Network)
        SystemNetworkMonitor()
        #else
        nil
        #endif
    }
}
