// The classes of Foundation that Spool uses.
public protocol NSObjectProtocol: AnyObject {}
open class NSObject: NSObjectProtocol, Hashable {
    public init() {}
    public static func == (a: NSObject, b: NSObject) -> Bool { a === b }
    public func hash(into hasher: inout Hasher) {}
    open var description: String { "" }
}
public struct NSZone {}
public protocol NSCopying { func copy(with zone: NSZone?) -> Any }

open class NSError: NSObject, Error, @unchecked Sendable {
    public init(domain: String, code: Int, userInfo: [String: Any]? = nil) {}
    public var domain: String { "" }
    public var code: Int { 0 }
    public var userInfo: [String: Any] { [:] }
    public var localizedDescription: String { "" }
}
public var NSURLErrorDomain: String { "" }
public let NSOSStatusErrorDomain = ""
public let NSLocalizedDescriptionKey = ""
public let NSUnderlyingErrorKey = ""
public let NSDebugDescriptionErrorKey = ""
public var NSURLErrorCancelled: Int { -999 }
public var NSURLErrorTimedOut: Int { -1001 }
public var NSURLErrorUnsupportedURL: Int { -1002 }
public var NSURLErrorCannotConnectToHost: Int { -1004 }
public var NSURLErrorResourceUnavailable: Int { -1008 }
public var NSURLErrorNotConnectedToInternet: Int { -1009 }
public var NSURLErrorBadServerResponse: Int { -1011 }
public var NSURLErrorUserAuthenticationRequired: Int { -1013 }
public var NSURLErrorCannotDecodeContentData: Int { -1016 }
public var NSURLErrorDataNotAllowed: Int { -1020 }
public var NSURLErrorFileDoesNotExist: Int { -1100 }
public var NSURLErrorNoPermissionsToReadFile: Int { -1102 }
public var NSURLErrorSecureConnectionFailed: Int { -1200 }

open class NotificationCenter: NSObject, @unchecked Sendable {
    public class var `default`: NotificationCenter { fatalError("declaration") }
    open func addObserver(
        forName name: Notification.Name?, object: Any?, queue: OperationQueue?, using block: @escaping @Sendable (Notification) -> Void
    ) -> any NSObjectProtocol { fatalError("declaration") }
    open func removeObserver(_ observer: Any) {}
    open func post(name: Notification.Name, object: Any?, userInfo: [AnyHashable: Any]? = nil) {}
}

open class OperationQueue: NSObject, @unchecked Sendable {
    open var maxConcurrentOperationCount: Int {
        get { 1 }
        set {}
    }
    open var name: String? {
        get { nil }
        set {}
    }
    open var underlyingQueue: DispatchQueue? {
        get { nil }
        set {}
    }
    @preconcurrency open func addOperation(_ block: @escaping @Sendable () -> Void) {}
}

open class Thread: NSObject {
    open class var isMainThread: Bool { false }
}

open class ProcessInfo: NSObject, @unchecked Sendable {
    public enum ThermalState: Int, Sendable { case nominal, fair, serious, critical }
    public class var processInfo: ProcessInfo { fatalError("declaration") }
    @available(macOS, unavailable)
    open func performExpiringActivity(withReason reason: String, using block: @escaping @Sendable (Bool) -> Void) {}
    @available(macOS 12.0, iOS 9.0, tvOS 9.0, watchOS 2.0, *)
    open var isLowPowerModeEnabled: Bool { false }
    open var thermalState: ThermalState { .nominal }
    open var operatingSystemVersionString: String { "" }
    open var operatingSystemVersion: OperatingSystemVersion { fatalError("declaration") }
    public class var thermalStateDidChangeNotification: Notification.Name { Notification.Name("") }
}
extension Notification.Name {
    @available(macOS 12.0, iOS 9.0, tvOS 9.0, watchOS 2.0, *)
    public static let NSProcessInfoPowerStateDidChange = Notification.Name("")
}

open class Progress: NSObject, @unchecked Sendable {
    public init(totalUnitCount: Int64) {}
    open var totalUnitCount: Int64 {
        get { 0 }
        set {}
    }
    open var completedUnitCount: Int64 {
        get { 0 }
        set {}
    }
    open var kind: ProgressKind? {
        get { nil }
        set {}
    }
    open var isPausable: Bool {
        get { false }
        set {}
    }
    open var cancellationHandler: (@Sendable () -> Void)? {
        get { nil }
        set {}
    }
    open var pausingHandler: (@Sendable () -> Void)? {
        get { nil }
        set {}
    }
    open var resumingHandler: (@Sendable () -> Void)? {
        get { nil }
        set {}
    }
    open func cancel() {}
}
public struct ProgressKind: Hashable, Sendable {
    public static let file = ProgressKind()
}

public struct FileAttributeKey: Hashable, Sendable {
    public static let protectionKey = FileAttributeKey()
}
public struct FileProtectionType: Hashable, Sendable {
    public static let none = FileProtectionType(), complete = FileProtectionType(), completeUnlessOpen = FileProtectionType()
    public static let completeUntilFirstUserAuthentication = FileProtectionType()
}
open class FileManager: NSObject, @unchecked Sendable {
    public class var `default`: FileManager { fatalError("declaration") }
    open func setAttributes(_ attributes: [FileAttributeKey: Any], ofItemAtPath path: String) throws {}
    open func moveItem(at source: URL, to target: URL) throws {}
    open func removeItem(at url: URL) throws {}
    open func fileExists(atPath path: String) -> Bool { false }
    open func contentsOfDirectory(atPath path: String) throws -> [String] { [] }
    open var temporaryDirectory: URL { fatalError("declaration") }
    public enum SearchPathDirectory: UInt, Sendable { case cachesDirectory = 13 }
    public struct SearchPathDomainMask: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
        public static let userDomainMask = SearchPathDomainMask(rawValue: 1)
    }
    open func urls(for directory: SearchPathDirectory, in domainMask: SearchPathDomainMask) -> [URL] { [] }
}
open class JSONEncoder: @unchecked Sendable {
    public init() {}
    open func encode<Value: Encodable>(_ value: Value) throws -> Data { fatalError("declaration") }
}
open class JSONDecoder: @unchecked Sendable {
    public init() {}
    open func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value { fatalError("declaration") }
}
open class Bundle: NSObject, @unchecked Sendable {
    open class var main: Bundle { fatalError("declaration") }
    open var bundleIdentifier: String? { nil }
    open var infoDictionary: [String: Any]? { nil }
    open func url(forResource name: String?, withExtension ext: String?) -> URL? { nil }
}
open class FileHandle: NSObject, @unchecked Sendable {
    public convenience init(forReadingFrom url: URL) throws { self.init() }
    public func seekToEnd() throws -> UInt64 { 0 }
    public func seek(toOffset offset: UInt64) throws {}
    public func read(upToCount count: Int) throws -> Data? { nil }
}
public struct CocoaError: Error {
    public struct Code: Hashable, Sendable {
        public static var fileReadCorruptFile: Code { Code() }
    }
    public init(_ code: Code) {}
}
/// The compiler calls it for `error as NSError`.
public func _convertErrorToNSError(_ error: any Error) -> NSError { fatalError("declaration") }
