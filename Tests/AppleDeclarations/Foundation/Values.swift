// The value types of Foundation that Spool uses.
@_exported import Darwin
@_exported import Dispatch

public protocol ContiguousBytes {
    func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R
}
public protocol DataProtocol: RandomAccessCollection where Element == UInt8 {}
extension Array: ContiguousBytes, DataProtocol where Element == UInt8 {}
extension UnsafeRawBufferPointer: ContiguousBytes, DataProtocol {
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { try body(self) }
}

public typealias TimeInterval = Double

public struct Data: Hashable, Sendable, RandomAccessCollection, MutableCollection, RangeReplaceableCollection, ContiguousBytes, DataProtocol
{
    public typealias Index = Int
    public typealias SubSequence = Data
    public init() {}
    public init<S: Sequence>(_ elements: S) where S.Element == UInt8 {}
    public init(count: Int) {}
    public init(contentsOf url: URL) throws {}
    public struct WritingOptions: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
        public static let atomic = WritingOptions(rawValue: 1)
    }
    public func write(to url: URL, options: WritingOptions = []) throws {}
    public init(bytes: UnsafeRawPointer, count: Int) {}
    public var startIndex: Int { 0 }
    public var endIndex: Int { 0 }
    public var count: Int {
        get { 0 }
        set {}
    }
    public subscript(index: Int) -> UInt8 {
        get { 0 }
        set {}
    }
    public subscript(bounds: Range<Int>) -> Data {
        get { self }
        set {}
    }
    public func subdata(in range: Range<Int>) -> Data { self }
    public mutating func append(_ other: Data) {}
    public mutating func append(contentsOf bytes: UnsafeRawBufferPointer) {}
    public mutating func replaceSubrange<C: Collection>(_ range: Range<Int>, with elements: C) where C.Element == UInt8 {}
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { fatalError("declaration") }
    public mutating func withUnsafeMutableBytes<R>(_ body: (UnsafeMutableRawBufferPointer) throws -> R) rethrows -> R {
        fatalError("declaration")
    }
    public func base64EncodedString() -> String { "" }
}

public struct Date: Hashable, Comparable, Sendable {
    public init() {}
    public init(timeIntervalSince1970: TimeInterval) {}
    public init(timeIntervalSinceNow: TimeInterval) {}
    public var timeIntervalSince1970: TimeInterval { 0 }
    public var timeIntervalSinceNow: TimeInterval { 0 }
    public var timeIntervalSinceReferenceDate: TimeInterval { 0 }
    public func timeIntervalSince(_ date: Date) -> TimeInterval { 0 }
    public func addingTimeInterval(_ interval: TimeInterval) -> Date { self }
    public static func < (a: Date, b: Date) -> Bool { false }
}

public struct OperatingSystemVersion: Sendable {
    public init() { fatalError("declaration") }
    public var majorVersion: Int
    public var minorVersion: Int
    public var patchVersion: Int
}

public struct Locale: Hashable, Sendable {
    public struct LanguageCode: Hashable, Sendable { public var identifier: String { "" } }
    public struct Region: Hashable, Sendable { public var identifier: String { "" } }
    public struct Language: Hashable, Sendable { public var languageCode: LanguageCode? { nil } }
    public static var current: Locale { fatalError("declaration") }
    @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
    public var language: Language { fatalError("declaration") }
    @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
    public var region: Region? { nil }
}

public struct UUID: Hashable, Sendable {
    public init() {}
    public init(uuid: (UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8)) {}
    public var uuidString: String { "" }
}

public struct URL: Hashable, Sendable, CustomStringConvertible {
    public init?(string: String) {}
    @available(macOS 14.0, iOS 17.0, tvOS 17.0, watchOS 10.0, *)
    public init?(string: String, encodingInvalidCharacters: Bool) {}
    public init?(string: String, relativeTo url: URL?) {}
    public init(fileURLWithPath path: String) {}
    public init(fileURLWithPath path: String, isDirectory: Bool) {}
    public var absoluteString: String { "" }
    public var description: String { "" }
    public var scheme: String? { nil }
    public var host: String? { nil }
    public var port: Int? { nil }
    public var user: String? { nil }
    public var password: String? { nil }
    public var path: String { "" }
    public var query: String? { nil }
    public var fragment: String? { nil }
    public var pathExtension: String { "" }
    public var lastPathComponent: String { "" }
    public var isFileURL: Bool { false }
    public func appendingPathComponent(_ component: String) -> URL { self }
    public func deletingLastPathComponent() -> URL { self }
    public mutating func deleteLastPathComponent() {}
    public mutating func setResourceValues(_ values: URLResourceValues) throws {}
}

public struct URLResourceValues {
    public init() {}
    public var isExcludedFromBackup: Bool? {
        get { nil }
        set {}
    }
}

public struct URLQueryItem: Hashable, Sendable {
    public var name: String
    public var value: String?
    public init(name: String, value: String?) { fatalError("declaration") }
}

public struct URLComponents: Hashable, Sendable {
    public init() { fatalError("declaration") }
    public init?(url: URL, resolvingAgainstBaseURL: Bool) { nil }
    public init?(string: String) { nil }
    @available(macOS 14.0, iOS 17.0, tvOS 17.0, watchOS 10.0, *)
    public init?(string: String, encodingInvalidCharacters: Bool) { nil }
    public var scheme: String?
    public var user: String?
    public var password: String?
    public var percentEncodedUser: String?
    public var percentEncodedPassword: String?
    public var host: String?
    public var port: Int?
    public var path: String
    public var percentEncodedPath: String
    public var percentEncodedQuery: String?
    public var queryItems: [URLQueryItem]?
    public var url: URL? { nil }
    public var string: String? { nil }
}

public struct Notification {
    public struct Name: Hashable, RawRepresentable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public init(_ rawValue: String) { self.rawValue = rawValue }
    }
    public var name: Name
    public var object: Any?
    public var userInfo: [AnyHashable: Any]?
}
@available(*, unavailable) extension Notification: @unchecked Sendable {}

public protocol LocalizedError: Error {
    var errorDescription: String? { get }
    var failureReason: String? { get }
    var recoverySuggestion: String? { get }
    var helpAnchor: String? { get }
}
extension LocalizedError {
    public var errorDescription: String? { nil }
    public var failureReason: String? { nil }
    public var recoverySuggestion: String? { nil }
    public var helpAnchor: String? { nil }
}
public protocol CustomNSError: Error {
    static var errorDomain: String { get }
    var errorCode: Int { get }
    var errorUserInfo: [String: Any] { get }
}
extension CustomNSError {
    public static var errorDomain: String { "" }
    public var errorCode: Int { 0 }
    public var errorUserInfo: [String: Any] { [:] }
}
extension Error {
    public var localizedDescription: String { "" }
}

extension StringProtocol {
    public func write(to url: URL, atomically useAuxiliaryFile: Bool, encoding: String.Encoding) throws {}
    public func replacingOccurrences(of target: String, with replacement: String) -> String { "" }
    public var removingPercentEncoding: String? { nil }
}

extension String {
    public struct Encoding: Hashable, Sendable {
        public static let utf8 = Encoding()
    }
    public init(contentsOf url: URL, encoding: Encoding) throws { fatalError("declaration") }
}

// A part of Core Graphics, whose lengths are CGFloat there.
public struct CGSize: Equatable, Sendable {
    public var width: Double
    public var height: Double
    public init(width: Double, height: Double) { fatalError("declaration") }
}
