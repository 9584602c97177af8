public import SpoolCore

/// The file of a resource that is stored as a whole, in its place in the store.
///
/// It is there for as long as this object lives: nothing of it is evicted meanwhile. Only a removal by command, or another version at the
/// origin, takes its name away; who has it open reads on. To be read only: what is written to it damages the store.
public final class CompleteFile: Sendable {
    public let key: ResourceKey
    /// The path of the file, which has the resource's extension.
    public let path: String
    /// The version that it is, with length and type.
    public let representation: Representation
    private let pin: TemporaryPin

    init(key: ResourceKey, path: String, representation: Representation, pin: TemporaryPin) {
        self.key = key
        self.path = path
        self.representation = representation
        self.pin = pin
    }
}
