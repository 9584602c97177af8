public import SpoolCore
#if canImport(Darwin)
public import Foundation

// On other systems Foundation is not part of the system, and the half of it that has this protocol
// would make a program 9 MB larger. An app that needs the conformance there adds this line.
extension CacheError: LocalizedError {}
#endif

extension CacheError {
    /// The message as a sentence for an alert. On Apple's systems `localizedDescription` returns
    /// it.
    public var errorDescription: String? { message.prefix(1).uppercased() + message.dropFirst() }
}
