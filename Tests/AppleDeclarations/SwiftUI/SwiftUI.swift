// The declarations of SwiftUI, and of the parts of Core Graphics that its calls need, which Spool and its examples use.
@_exported import Combine
@_exported import Foundation

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
    public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
    public static func buildEither<Content: View>(first: Content) -> Changed { Changed() }
    public static func buildEither<Content: View>(second: Content) -> Changed { Changed() }
}
extension Optional: View where Wrapped: View {
    public typealias Body = Never
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
    public func accessibilityLabel<S: StringProtocol>(_ label: S) -> some View { Changed() }
    public func accessibilityValue(_ value: Text) -> some View { Changed() }
    public func clipShape<S: Shape>(_ shape: S) -> some View { Changed() }
    public func disabled(_ disabled: Bool) -> some View { Changed() }
    public func flipsForRightToLeftLayoutDirection(_ enabled: Bool) -> some View { Changed() }
    public func fontWeight(_ weight: Font.Weight?) -> some View { Changed() }
    public func foregroundStyle<S: ShapeStyle>(_ style: S) -> some View { Changed() }
    public func frame(width: CGFloat? = nil, height: CGFloat? = nil) -> some View { Changed() }
    public func onAppear(perform action: (() -> Void)? = nil) -> some View { Changed() }
    public func onChange<V: Equatable>(of value: V, perform action: @escaping (_ newValue: V) -> Void) -> some View { Changed() }
    public func padding() -> some View { Changed() }
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
    nonisolated public init<S: StringProtocol>(_ content: S) {}
}
public enum Font {
    public struct Weight: Hashable, Sendable {
        public static let bold = Weight()
        public static let regular = Weight()
    }
}
public struct Button: View {
    public init<S: StringProtocol>(_ title: S, action: @escaping @MainActor () -> Void) {}
}
@available(tvOS, unavailable)
public struct ShareLink: View {
    public init<S: StringProtocol>(_ title: S, item: URL) {}
}
public struct Spacer: View {
    public init() {}
}
public struct ProgressView: View {
    public init<V: BinaryFloatingPoint>(value: V?, total: V = 1) {}
}
public struct List: View {
    public init<Data: RandomAccessCollection, Row: View>(_ data: Data, @ViewBuilder rowContent: @escaping (Data.Element) -> Row)
    where Data.Element: Identifiable {}
}
public struct VStack<Content: View>: View {
    public init(spacing: CGFloat? = nil, @ViewBuilder content: () -> Content) {}
}
public struct HStack<Content: View>: View {
    public init(spacing: CGFloat? = nil, @ViewBuilder content: () -> Content) {}
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

@MainActor @preconcurrency @propertyWrapper public struct ObservedObject<ObjectType: ObservableObject> {
    public init(wrappedValue: ObjectType) { self.wrappedValue = wrappedValue }
    public var wrappedValue: ObjectType
}
@MainActor @preconcurrency @propertyWrapper public struct StateObject<ObjectType: ObservableObject> {
    nonisolated public init(wrappedValue: @autoclosure @escaping () -> ObjectType) {}
    public var wrappedValue: ObjectType { fatalError("declaration") }
}
@MainActor @preconcurrency public protocol Scene {}
public struct WindowGroup<Content: View>: Scene {
    public init(@ViewBuilder content: () -> Content) {}
}
@MainActor @preconcurrency public protocol App {
    associatedtype Body: Scene
    var body: Body { get }
    init()
}
extension App {
    public static func main() {}
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
    public static var secondary: HierarchicalShapeStyle { HierarchicalShapeStyle() }
}
