// The intervals of the unified logging system, by Apple's documentation of `OSSignposter`.

@available(macOS 12, iOS 15, tvOS 15, *)
public struct OSSignposter: Sendable {
    public init(subsystem: String, category: String) { fatalError() }
    public var isEnabled: Bool { fatalError() }
    public func makeSignpostID() -> OSSignpostID { fatalError() }
    public func beginInterval(
        _ name: StaticString, id: OSSignpostID = .exclusive, _ message: SignpostMetadata
    ) -> OSSignpostIntervalState { fatalError() }
    public func endInterval(_ name: StaticString, _ state: OSSignpostIntervalState) { fatalError() }
}

public struct OSSignpostID: Sendable {
    public static let exclusive = OSSignpostID()
}

@available(macOS 12, iOS 15, tvOS 15, *)
public final class OSSignpostIntervalState: Sendable {}

@available(macOS 12, iOS 15, tvOS 15, *)
public typealias SignpostMetadata = OSLogMessage

public struct OSLogMessage: ExpressibleByStringInterpolation {
    public init(stringInterpolation: OSLogInterpolation) {}
    public init(stringLiteral value: String) {}
}

public struct OSLogInterpolation: StringInterpolationProtocol {
    public init(literalCapacity: Int, interpolationCount: Int) {}
    public mutating func appendLiteral(_ literal: String) {}
    public mutating func appendInterpolation(_ argumentString: @autoclosure @escaping () -> String, privacy: OSLogPrivacy = .auto) {}
}

public struct OSLogPrivacy: Sendable {
    public static var auto: OSLogPrivacy { fatalError() }
    public static var `public`: OSLogPrivacy { fatalError() }
}
