// The declarations of UniformTypeIdentifiers that Spool uses.
public struct UTType: Hashable, Sendable {
    public init?(_ identifier: String) { nil }
    public init?(mimeType: String, conformingTo supertype: UTType = .data) { nil }
    public var identifier: String { fatalError("declaration") }
    public func conforms(to type: UTType) -> Bool { fatalError("declaration") }
    public static var data: UTType { fatalError("declaration") }
    public static var mpeg4Movie: UTType { fatalError("declaration") }
    public static var audiovisualContent: UTType { fatalError("declaration") }
}
