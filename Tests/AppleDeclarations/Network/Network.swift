// The parts of Network that Spool uses.
public import Dispatch

@available(macOS 10.14, iOS 12.0, tvOS 12.0, watchOS 5.0, *)
public final class NWPathMonitor {
    public init() {}
    @preconcurrency public final var pathUpdateHandler: (@Sendable (_ newPath: NWPath) -> Void)? {
        get { nil }
        set {}
    }
    public final func start(queue: DispatchQueue) {}
    public final func cancel() {}
}

@available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *)
extension NWPathMonitor: @unchecked Sendable {}

@available(macOS 10.14, iOS 12.0, tvOS 12.0, watchOS 5.0, *)
public struct NWPath: Equatable, Sendable {
    public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }
    public let status: Status
    public let isExpensive: Bool
    @available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
    public let isConstrained: Bool
    public func usesInterfaceType(_ type: NWInterface.InterfaceType) -> Bool { false }
}

@available(macOS 10.14, iOS 12.0, tvOS 12.0, watchOS 5.0, *)
public struct NWInterface: Hashable, Sendable {
    public enum InterfaceType: Sendable { case other, wifi, cellular, wiredEthernet, loopback }
}
