// The declarations of SwiftUI, and of the parts of Core Graphics that its calls need, which Spool uses.
public struct CGFloat: Hashable, Sendable, ExpressibleByFloatLiteral, ExpressibleByIntegerLiteral, AdditiveArithmetic {
    public init(_ value: Double) {}
    public init(floatLiteral value: Double) {}
    public init(integerLiteral value: Int) {}
    public static var zero: CGFloat { 0 }
    public static func + (a: CGFloat, b: CGFloat) -> CGFloat { a }
    public static func - (a: CGFloat, b: CGFloat) -> CGFloat { a }
}
extension Double {
    public init(_ value: CGFloat) { fatalError("declaration") }
}
public struct CGRect: Hashable, Sendable {
    public init(x: CGFloat, y: CGFloat, width: CGFloat, height: CGFloat) {}
    public var minX: CGFloat { 0 }
    public var minY: CGFloat { 0 }
    public var width: CGFloat { 0 }
    public var height: CGFloat { 0 }
}

@MainActor @preconcurrency public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}
extension Never: View {}
extension View where Body == Never {
    public var body: Never { fatalError("declaration") }
}
@resultBuilder public enum ViewBuilder {
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
    public static func buildBlock<each Content: View>(_ content: repeat each Content) -> TupleView<(repeat each Content)> { TupleView() }
}
public struct TupleView<Content>: View {
    nonisolated init() {}
}
public struct Changed: View {
    nonisolated init() {}
}
extension View {
    public func accessibilityElement(children: AccessibilityChildBehavior = .ignore) -> some View { Changed() }
    public func accessibilityLabel(_ label: Text) -> some View { Changed() }
    public func accessibilityValue(_ value: Text) -> some View { Changed() }
    public func clipShape<S: Shape>(_ shape: S) -> some View { Changed() }
    public func flipsForRightToLeftLayoutDirection(_ enabled: Bool) -> some View { Changed() }
    public func task<T: Equatable>(
        id value: T, priority: TaskPriority = .userInitiated,
        @_inheritActorContext _ action: sending @escaping @isolated(any) () async -> Void
    ) -> some View { Changed() }
}
public struct AccessibilityChildBehavior: Hashable, Sendable {
    public static let ignore = AccessibilityChildBehavior()
}
public struct Text: View, Sendable {
    nonisolated public init(verbatim content: String) {}
}
public struct ZStack<Content: View>: View {
    public init(@ViewBuilder content: () -> Content) {}
}
@propertyWrapper public struct State<Value> {
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
    public var wrappedValue: Value {
        get { fatalError("declaration") }
        nonmutating set { _ = newValue }
    }
}

public struct Path: Sendable {
    public init() {}
    public mutating func addRect(_ rect: CGRect) {}
}
public protocol Shape: Sendable, View {
    nonisolated func path(in rect: CGRect) -> Path
}
extension Shape {
    public func fill<S: ShapeStyle>(_ style: S) -> some View { Changed() }
}
public struct Capsule: Shape {
    nonisolated public init() {}
    nonisolated public func path(in rect: CGRect) -> Path { Path() }
}
public protocol ShapeStyle: Sendable {}
public struct TintShapeStyle: ShapeStyle {}
public struct HierarchicalShapeStyle: ShapeStyle {}
extension ShapeStyle where Self == TintShapeStyle {
    public static var tint: TintShapeStyle { TintShapeStyle() }
}
extension ShapeStyle where Self == HierarchicalShapeStyle {
    public static var quaternary: HierarchicalShapeStyle { HierarchicalShapeStyle() }
}
