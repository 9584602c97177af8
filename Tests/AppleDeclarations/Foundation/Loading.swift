// The URL loading system of Foundation, as far as Spool uses it.
open class URLResponse: NSObject, @unchecked Sendable {
    open var url: URL? { nil }
    open var mimeType: String? { nil }
    open var expectedContentLength: Int64 { 0 }
}
open class HTTPURLResponse: URLResponse, @unchecked Sendable {
    public init?(url: URL, statusCode: Int, httpVersion: String?, headerFields: [String: String]?) {}
    open var statusCode: Int { 0 }
    open var allHeaderFields: [AnyHashable: Any] { [:] }
    open func value(forHTTPHeaderField field: String) -> String? { nil }
}
open class CachedURLResponse: NSObject, @unchecked Sendable {}

public struct URLRequest: Hashable, Sendable {
    public init(url: URL) {}
    public var url: URL?
    public var httpMethod: String?
    public var httpBody: Data?
    public var httpShouldHandleCookies = true
    public var allowsCellularAccess = true
    public var allowsExpensiveNetworkAccess = true
    public var allowsConstrainedNetworkAccess = true
    public var networkServiceType = NetworkServiceType.default
    public var timeoutInterval: TimeInterval = 0
    public var allHTTPHeaderFields: [String: String]?
    public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) {}
    public mutating func addValue(_ value: String, forHTTPHeaderField field: String) {}
    public func value(forHTTPHeaderField field: String) -> String? { nil }
    public enum NetworkServiceType: UInt, Sendable { case `default`, video, background, voice, responsiveData, avStreaming, responsiveAV }
}

open class HTTPCookie: NSObject, @unchecked Sendable {
    open var name: String { "" }
    open var value: String { "" }
    open var domain: String { "" }
    open var path: String { "" }
    open var isSecure: Bool { false }
    open var expiresDate: Date? { nil }
    open class func requestHeaderFields(with cookies: [HTTPCookie]) -> [String: String] { [:] }
}
open class HTTPCookieStorage: NSObject, @unchecked Sendable {
    public enum AcceptPolicy: UInt, Sendable { case always, never, onlyFromMainDocumentDomain }
    open class var shared: HTTPCookieStorage { fatalError("declaration") }
    open var cookies: [HTTPCookie]? { nil }
    open func cookies(for url: URL) -> [HTTPCookie]? { nil }
}
open class URLCache: NSObject, @unchecked Sendable {}
open class URLCredentialStorage: NSObject, @unchecked Sendable {}
open class URLCredential: NSObject, @unchecked Sendable {
    public enum Persistence: UInt, Sendable { case none, forSession, permanent, synchronizable }
    public init(user: String, password: String, persistence: Persistence) {}
}
public let NSURLAuthenticationMethodServerTrust = ""
open class URLProtectionSpace: NSObject, @unchecked Sendable {
    open var authenticationMethod: String { "" }
    open var host: String { "" }
    open func isProxy() -> Bool { false }
}
open class URLAuthenticationChallenge: NSObject, @unchecked Sendable {
    open var protectionSpace: URLProtectionSpace { fatalError("declaration") }
    open var previousFailureCount: Int { 0 }
}

open class URLSessionConfiguration: NSObject, @unchecked Sendable {
    open class var `default`: URLSessionConfiguration { fatalError("declaration") }
    open class var ephemeral: URLSessionConfiguration { fatalError("declaration") }
    open class func background(withIdentifier identifier: String) -> URLSessionConfiguration { fatalError("declaration") }
    open var identifier: String? { nil }
    open var urlCache: URLCache?
    open var requestCachePolicy = NSURLRequest.CachePolicy.useProtocolCachePolicy
    open var httpCookieStorage: HTTPCookieStorage?
    open var httpShouldSetCookies = true
    open var httpCookieAcceptPolicy = HTTPCookieStorage.AcceptPolicy.always
    open var urlCredentialStorage: URLCredentialStorage?
    open var timeoutIntervalForRequest: TimeInterval = 60
    open var timeoutIntervalForResource: TimeInterval = 0
    open var httpMaximumConnectionsPerHost = 6
    open var waitsForConnectivity = false
    open var networkServiceType = URLRequest.NetworkServiceType.default
    open var allowsCellularAccess = true
    open var isDiscretionary = false
    open var sessionSendsLaunchEvents = false
    open var sharedContainerIdentifier: String?
}
open class NSURLRequest: NSObject, @unchecked Sendable {
    public enum CachePolicy: UInt, Sendable { case useProtocolCachePolicy, reloadIgnoringLocalCacheData }
}
open class URLSessionTask: NSObject, @unchecked Sendable {
    public enum State: Int, Sendable { case running, suspended, canceling, completed }
    open var state: State { .running }
    open var taskIdentifier: Int { 0 }
    open var originalRequest: URLRequest? { nil }
    open var currentRequest: URLRequest? { nil }
    open var response: URLResponse? { nil }
    open var taskDescription: String?
    open var priority: Float {
        get { 0 }
        set {}
    }
    open func resume() {}
    open func suspend() {}
    open func cancel() {}
    public static let lowPriority: Float = 0.25, defaultPriority: Float = 0.5, highPriority: Float = 0.75
}
open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}
open class URLSessionDownloadTask: URLSessionTask, @unchecked Sendable {}
open class URLSessionTaskMetrics: NSObject, @unchecked Sendable {
    open var transactionMetrics: [URLSessionTaskTransactionMetrics] { [] }
}
open class URLSessionTaskTransactionMetrics: NSObject, @unchecked Sendable {
    open var fetchStartDate: Date? { nil }
    open var connectEndDate: Date? { nil }
    open var responseStartDate: Date? { nil }
    open var responseEndDate: Date? { nil }
    open var isReusedConnection: Bool { false }
    open var networkProtocolName: String? { nil }
    @available(macOS 10.15, iOS 13.0, watchOS 6.0, tvOS 13.0, *)
    open var countOfResponseHeaderBytesReceived: Int64 { 0 }
    @available(macOS 10.15, iOS 13.0, watchOS 6.0, tvOS 13.0, *)
    open var countOfResponseBodyBytesReceived: Int64 { 0 }
}
public protocol URLSessionDelegate: NSObjectProtocol, Sendable {}
public protocol URLSessionTaskDelegate: URLSessionDelegate {}
public protocol URLSessionDataDelegate: URLSessionTaskDelegate {}
public protocol URLSessionDownloadDelegate: URLSessionTaskDelegate {
    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL)
}
open class URLSession: NSObject, @unchecked Sendable {
    public enum ResponseDisposition: Int, Sendable { case cancel, allow, becomeDownload, becomeStream }
    public enum AuthChallengeDisposition: Int, Sendable {
        case useCredential, performDefaultHandling, cancelAuthenticationChallenge, rejectProtectionSpace
    }
    public init(configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?, delegateQueue: OperationQueue?) {}
    open func dataTask(with request: URLRequest) -> URLSessionDataTask { fatalError("declaration") }
    open func dataTask(
        with request: URLRequest, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask { fatalError("declaration") }
    open func downloadTask(with request: URLRequest) -> URLSessionDownloadTask { fatalError("declaration") }
    open func getAllTasks(completionHandler: @escaping @Sendable ([URLSessionTask]) -> Void) {}
    open func finishTasksAndInvalidate() {}
    open func invalidateAndCancel() {}
}

public struct URLError: Error, Hashable, Sendable {
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }
        public static let unknown = Code(rawValue: -1), cancelled = Code(rawValue: -999), badURL = Code(rawValue: -1000)
        public static let timedOut = Code(rawValue: -1001), unsupportedURL = Code(rawValue: -1002)
        public static let badServerResponse = Code(rawValue: -1011), cannotDecodeRawData = Code(rawValue: -1015)
        public static let cannotDecodeContentData = Code(rawValue: -1016), cannotParseResponse = Code(rawValue: -1017)
        @available(macOS 10.11, iOS 9.0, watchOS 2.0, tvOS 9.0, *)
        public static let appTransportSecurityRequiresSecureConnection = Code(rawValue: -1022)
        public static let secureConnectionFailed = Code(rawValue: -1200), serverCertificateHasBadDate = Code(rawValue: -1201)
        public static let serverCertificateUntrusted = Code(rawValue: -1202), serverCertificateHasUnknownRoot = Code(rawValue: -1203)
        public static let serverCertificateNotYetValid = Code(rawValue: -1204), clientCertificateRejected = Code(rawValue: -1205)
        public static let clientCertificateRequired = Code(rawValue: -1206)
    }
    public var code: Code { fatalError("declaration") }
}
