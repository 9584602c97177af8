public import SpoolCore
public import SpoolOrigin
public import SpoolStore

// The names of settings before they had sections.

extension Configuration {
    /// The earlier name of `storage.directory`.
    @available(*, deprecated, renamed: "storage.directory")
    public var directory: String? {
        get { storage.directory }
        set { storage.directory = newValue }
    }

    /// The earlier name of `storage.name`.
    @available(*, deprecated, renamed: "storage.name")
    public var name: String {
        get { storage.name }
        set { storage.name = newValue }
    }

    /// The earlier name of `storage.maximumResourceBytes`.
    @available(*, deprecated, renamed: "storage.maximumResourceBytes")
    public var maximumResourceBytes: Int64? {
        get { storage.maximumResourceBytes }
        set { storage.maximumResourceBytes = newValue }
    }

    /// The earlier name of `storage.openFileCount`.
    @available(*, deprecated, renamed: "storage.openFileCount")
    public var openFileCount: Int? {
        get { storage.openFileCount }
        set { storage.openFileCount = newValue }
    }

    /// The earlier name of `storage.isReadOnly`.
    @available(*, deprecated, renamed: "storage.isReadOnly")
    public var isReadOnly: Bool {
        get { storage.isReadOnly }
        set { storage.isReadOnly = newValue }
    }

    /// The earlier name of `fetching.policy`.
    @available(*, deprecated, renamed: "fetching.policy")
    public var fetchPolicy: FetchPolicy {
        get { fetching.policy }
        set { fetching.policy = newValue }
    }

    /// The earlier name of `fetching.readAheadBytes`.
    @available(*, deprecated, renamed: "fetching.readAheadBytes")
    public var readAheadBytes: Int64 {
        get { fetching.readAheadBytes }
        set { fetching.readAheadBytes = newValue }
    }

    /// The earlier name of `fetching.maximumFetches`.
    @available(*, deprecated, renamed: "fetching.maximumFetches")
    public var maximumFetches: Int {
        get { fetching.maximumFetches }
        set { fetching.maximumFetches = newValue }
    }

    /// The earlier name of `fetching.maximumFetchesPerHost`.
    @available(*, deprecated, renamed: "fetching.maximumFetchesPerHost")
    public var maximumFetchesPerHost: Int {
        get { fetching.maximumFetchesPerHost }
        set { fetching.maximumFetchesPerHost = newValue }
    }

    /// The earlier name of `fetching.bufferCount`.
    @available(*, deprecated, renamed: "fetching.bufferCount")
    public var bufferCount: Int {
        get { fetching.bufferCount }
        set { fetching.bufferCount = newValue }
    }

    /// The earlier name of `fetching.idleSessionCount`.
    @available(*, deprecated, renamed: "fetching.idleSessionCount")
    public var idleSessionCount: Int {
        get { fetching.idleSessionCount }
        set { fetching.idleSessionCount = newValue }
    }

    /// The earlier name of `freshness.policy`.
    @available(*, deprecated, renamed: "freshness.policy")
    public var cachePolicy: CachePolicy {
        get { freshness.policy }
        set { freshness.policy = newValue }
    }

    /// The earlier name of `freshness.isShared`.
    @available(*, deprecated, renamed: "freshness.isShared")
    public var isShared: Bool {
        get { freshness.isShared }
        set { freshness.isShared = newValue }
    }

    /// The earlier name of `freshness.identities`.
    @available(*, deprecated, renamed: "freshness.identities")
    public var identities: [String: Identity] {
        get { freshness.identities }
        set { freshness.identities = newValue }
    }

    /// The earlier name of `freshness.keyPolicy`.
    @available(*, deprecated, renamed: "freshness.keyPolicy")
    public var keyPolicy: KeyPolicy {
        get { freshness.keyPolicy }
        set { freshness.keyPolicy = newValue }
    }

    /// The earlier name of `network.requestFields`.
    @available(*, deprecated, renamed: "network.requestFields")
    public var requestFields: HTTPFields {
        get { network.requestFields }
        set { network.requestFields = newValue }
    }

    /// The earlier name of `network.requestFieldsForURL`.
    @available(*, deprecated, renamed: "network.requestFieldsForURL")
    public var requestFieldsForURL: (@Sendable (_ url: String) -> HTTPFields)? {
        get { network.requestFieldsForURL }
        set { network.requestFieldsForURL = newValue }
    }

    /// The earlier name of `network.requestModifier`.
    @available(*, deprecated, renamed: "network.requestModifier")
    public var requestModifier: (any RequestModifier)? {
        get { network.requestModifier }
        set { network.requestModifier = newValue }
    }

    /// The earlier name of `network.certificateFile`.
    @available(*, deprecated, renamed: "network.certificateFile")
    public var certificateFile: String? {
        get { network.certificateFile }
        set { network.certificateFile = newValue }
    }

    /// The earlier name of `network.usesHTTP2`.
    @available(*, deprecated, renamed: "network.usesHTTP2")
    public var usesHTTP2: Bool {
        get { network.usesHTTP2 }
        set { network.usesHTTP2 = newValue }
    }

    /// The earlier name of `network.transport`.
    @available(*, deprecated, renamed: "network.transport")
    public var transport: (any Transport)? {
        get { network.transport }
        set { network.transport = newValue }
    }

    /// The earlier name of `security.encryption`.
    @available(*, deprecated, renamed: "security.encryption")
    public var encryption: EncryptionOptions? {
        get { security.encryption }
        set { security.encryption = newValue }
    }

    /// The earlier name of `security.fileProtection`.
    @available(*, deprecated, renamed: "security.fileProtection")
    public var fileProtection: FileProtection {
        get { security.fileProtection }
        set { security.fileProtection = newValue }
    }

    /// The earlier name of `security.isExcludedFromBackup`.
    @available(*, deprecated, renamed: "security.isExcludedFromBackup")
    public var isExcludedFromBackup: Bool {
        get { security.isExcludedFromBackup }
        set { security.isExcludedFromBackup = newValue }
    }

    /// The earlier name of `security.privateNames`.
    @available(*, deprecated, renamed: "security.privateNames")
    public var privateNames: PrivateNames {
        get { security.privateNames }
        set { security.privateNames = newValue }
    }
}
