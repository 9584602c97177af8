public import SpoolCore
public import SpoolStore
public import SpoolOrigin
import SpoolSystem
#if !os(Linux)
public import Foundation

/// Takes a challenge of `URLSession` and answers by the closure, once, from any thread.
public typealias URLSessionChallengeHandler =
    @Sendable (
        _ challenge: URLAuthenticationChallenge,
        _ answer: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) -> Void
#endif

/// How a cache behaves. Every bound has a unit, a default and a reason.
public struct Configuration: Sendable {
    /// The directory of the store; made when it is missing. Nil for the default place of `name`.
    public var directory: String?
    /// Names the default directory: `Caches/<name>` on Apple's systems, `$XDG_CACHE_HOME/<name>` elsewhere.
    public var name = "spool"
    /// How much is kept, and what goes when that is reached.
    public var limits = StorageLimits()
    /// How far fetches go beyond readers, unless a reader says otherwise.
    public var fetchPolicy = FetchPolicy.whilePlaying
    /// What is stored, and when stored bytes are used without asking the origin, unless a reader says otherwise.
    public var cachePolicy = CachePolicy.preferStored
    /// Whether several users share what is stored: then `private` responses and those to requests with credentials are not kept,
    /// and `s-maxage` counts (RFC 9111 §3).
    public var isShared = false
    /// By what versions are told apart, for hosts whose validators are not to be relied on, or are missing; by host name in lower case,
    /// `*` for all others. See `Identity` for what that costs.
    public var identities: [String: Identity] = [:]
    /// The most bytes that are kept of one resource; a larger one is passed on, not stored. Nil for no limit.
    public var maxResourceBytes: Int64?
    /// Changes the requests to origins just before they are made, and refreshes credentials; nil to send them as they are.
    public var requestModifier: (any RequestModifier)?
    /// How far a fetch runs ahead of the furthest reader under `.whilePlaying`, in bytes. 4 MiB: seconds of high-bitrate video,
    /// and what a seek away from it may have fetched in vain.
    public var readAheadBytes: Int64 = 4 << 20
    /// Memory for received bytes on their way to the disk, in buffers of 1 MiB. 16 saturate a disk and bound the memory.
    public var buffers = 16
    /// Origin requests at once, in all. 64 bounds descriptors and tails (64 KiB each).
    public var fetchesAtOnce = 64
    /// Origin requests at once to one host. 6, as browsers do.
    public var fetchesPerHost = 6
    /// How resources are told apart.
    public var keyPolicy = KeyPolicy()
    /// Fields sent with every origin request, for example `User-Agent`. They cross to another host on a redirect only if they carry no credentials.
    public var requestFields: HTTPFields = [:]
    /// Further fields of requests to one URL, such as a token or cookies that belong to its host; nil for none.
    ///
    /// Called when a resource is first used and for each redirect to another origin, from any thread; it must not block.
    /// Fields of the same name in `requestFields` give way.
    public var requestFieldsForURL: (@Sendable (_ url: String) -> HTTPFields)?
    /// Resources whose index entries stay in memory after use. 256 × a few hundred bytes.
    public var idleSessions = 256
    /// The most descriptors that the store takes for data files, besides those that a client is being sent from. Nil for 64, or a quarter
    /// of what the process may have open where that is less: on Apple's systems that is 256, and the app around the cache needs most of it.
    /// A store with few opens and closes its files more often; it stores no less.
    public var openFiles: Int?
    /// The resources that the store may delete when the disk has no room to open it for writing.
    package var expendable: SQLiteStore.Expendable?
    /// Called for each file that the store deleted so: its resource, where that is known, and the bytes that it occupied.
    package var onExpended: @Sendable (ResourceKey?, Int64) -> Void = { _, _ in }
    /// Open the store for reading only, and store nothing.
    public var isReadOnly = false
    /// Encrypts what is stored: media, names, URLs and headers; nil for a plain store. A store is one or the other from its beginning
    /// (docs/encryption.md).
    public var encryption: EncryptionOptions?
    /// Whether backups leave the store out; on Apple's systems. What a cache has can be fetched again. The directory of the store is marked
    /// for it, so it should be its own.
    public var isExcludedFromBackup = true
    /// When stored media can be read; on iOS, tvOS and visionOS. The default lets music play while the screen is locked.
    public var fileProtection = FileProtection.completeUntilFirstUserAuthentication
    /// Changes the bytes on their way from the store to every reader that brings no transform of its own; nil to leave them as the
    /// origin sent them.
    public var contentTransform: (any ContentTransform)?
    /// Whether a public name may lead to a private address. An app that chooses its URLs itself knows what it asks for; where others
    /// choose them, as with `spool serve`, a name that its owner points at a private address would open that network to them.
    public var privateNames = PrivateNames.allowed
    /// A file of certificates (PEM) that private origins are verified by, where libcurl is the transport; `URLSession` has `onChallenge`.
    ///
    /// Its certificates take the place of the system's bundle. libcurl trusts the system's directory of certificates besides where it
    /// was built with one, as on Debian and Ubuntu.
    public var certificateFile: String?
    /// Whether libcurl asks TLS origins by HTTP/2 where they offer it: one connection for many requests, but a paused one buffers up to
    /// 64 KiB more than by HTTP/1.1. `URLSession` chooses by itself.
    public var usesHTTP2 = false
    /// How origins are talked to; nil for the platform's own: `URLSession` on Apple's systems, libcurl elsewhere. One for each cache,
    /// which closes it with itself and follows redirects around it.
    public var transport: (any Transport)?
    #if !os(Linux)
    /// Makes the configuration of the cache's one `URLSession`: proxies, protocol classes, multipath, time-outs. Its caches, cookies and
    /// credentials are switched off whatever it says: media is cached here, and once.
    public var urlSessionConfiguration: (@Sendable () -> URLSessionConfiguration)?
    /// Answers the session's challenges, say for a pinned certificate or a client's; nil for the system's own trust.
    public var onChallenge: URLSessionChallengeHandler?
    #endif
    /// Take every event.
    public var events: [any EventSink] = []
    /// Takes lines for people; nil for silence.
    public var log: (any LogSink)?
    /// Whether lanes keep off the core of the transport's loop, on Linux. For programs that are nothing but a server: what threads of libraries are
    /// started from a lane inherits the cores on which it may run, and keeps them.
    package var keepsLanesOffLoop = false
    /// Puts a transport around the one that follows redirects, for a program that asks somebody else than the origin; nil for none.
    package var transportAround: (@Sendable (any Transport) -> any Transport)?

    public init() {}

    /// The descriptors that data files may take now.
    var openFileLimits: OpenFileLimits {
        let share = DescriptorLimit.current / Self.descriptorShare
        return OpenFileLimits(descriptors: openFiles ?? min(OpenFileLimits.appDescriptors, share))
    }

    /// The part of the process's descriptors that data files take at most, unless `openFiles` says otherwise.
    package static let descriptorShare = 4

    /// The complaints about values that make no sense, or nil.
    func complaint() -> String? {
        if readAheadBytes < 65_536 { return "readAheadBytes is \(readAheadBytes); it must be at least 65536" }
        if let complaint = limits.complaint() { return complaint }
        if let maxResourceBytes, maxResourceBytes < 1 {
            return "maxResourceBytes is \(maxResourceBytes); give at least 1, or nil for no limit"
        }
        if buffers < 1 { return "buffers is \(buffers); it must be at least 1" }
        if fetchesAtOnce < 1 || fetchesPerHost < 1 { return "fetchesAtOnce and fetchesPerHost must be at least 1" }
        if let openFiles, openFiles < OpenFileLimits.leastDescriptors {
            return "openFiles is \(openFiles); give at least \(OpenFileLimits.leastDescriptors), or nil for the default"
        }
        if idleSessions < 0 { return "idleSessions is \(idleSessions); it can't be negative" }
        return nil
    }
}
