// The declarations of Dispatch that Spool uses.
open class DispatchObject: @unchecked Sendable {
    init() {}
}
public struct DispatchQoS: Equatable, Sendable {
    public enum QoSClass: Sendable { case background, utility, `default`, userInitiated, userInteractive, unspecified }
    public static let background = DispatchQoS(), utility = DispatchQoS(), `default` = DispatchQoS()
    public static let userInitiated = DispatchQoS(), userInteractive = DispatchQoS(), unspecified = DispatchQoS()
}
open class DispatchQueue: DispatchObject, @unchecked Sendable {
    public struct Attributes: OptionSet, Sendable {
        public let rawValue: UInt64
        public init(rawValue: UInt64) { self.rawValue = rawValue }
        public static let concurrent = Attributes(rawValue: 2)
    }
    public class var main: DispatchQueue { fatalError("declaration") }
    public class func global(qos: DispatchQoS.QoSClass = .default) -> DispatchQueue { fatalError("declaration") }
    public convenience init(label: String, qos: DispatchQoS = .unspecified, attributes: Attributes = []) { self.init() }
    public var label: String { fatalError("declaration") }
    @preconcurrency public func async(execute work: @escaping @Sendable @convention(block) () -> Void) {}
    public func sync<T>(execute work: () throws -> T) rethrows -> T { fatalError("declaration") }
    @preconcurrency public func asyncAfter(
        deadline: DispatchTime, qos: DispatchQoS = .unspecified, execute work: @escaping @Sendable @convention(block) () -> Void
    ) {}
}
public struct DispatchTime: Comparable, Sendable {
    public static func now() -> DispatchTime { fatalError("declaration") }
    public var uptimeNanoseconds: UInt64 { 0 }
    public static func < (a: DispatchTime, b: DispatchTime) -> Bool { fatalError("declaration") }
    public static func + (a: DispatchTime, b: Double) -> DispatchTime { fatalError("declaration") }
    public static func + (a: DispatchTime, b: DispatchTimeInterval) -> DispatchTime { fatalError("declaration") }
}
public enum DispatchTimeInterval: Equatable, Sendable { case seconds(Int), milliseconds(Int), nanoseconds(Int), never }
public enum DispatchTimeoutResult: Sendable { case success, timedOut }
open class DispatchSemaphore: DispatchObject, @unchecked Sendable {
    public init(value: Int) {}
    @discardableResult public func signal() -> Int { 0 }
    public func wait() {}
    public func wait(timeout: DispatchTime) -> DispatchTimeoutResult { .success }
}
