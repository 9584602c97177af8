public import SpoolCore

/// The file of a completely stored resource, in its place in the store.
///
/// The file stays as long as this object lives, because nothing of it is evicted meanwhile. Only a
/// removal by command, or another version at the origin, takes its name away; a program that has
/// the file open can go on reading it. Do not write to the file: that damages the store.
public final class CompleteFile: Sendable {
    /// The key of the resource.
    public let key: ResourceKey
    /// The path of the file, with the file extension of the resource.
    public let path: String
    /// The stored version, with its length and type.
    public let representation: Representation
    private let pin: TemporaryPin

    init(key: ResourceKey, path: String, representation: Representation, pin: TemporaryPin) {
        self.key = key
        self.path = path
        self.representation = representation
        self.pin = pin
    }
}
