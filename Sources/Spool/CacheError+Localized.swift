public import SpoolCore
#if canImport(Darwin)
public import Foundation

// Elsewhere Foundation is not part of the system: its half that has this protocol would make a program 9 MB larger. There an app that
// wants it writes this line.
extension CacheError: LocalizedError {}
#endif

extension CacheError {
    /// The message as a sentence for an alert. On Apple's systems `localizedDescription` returns it.
    public var errorDescription: String? { message.prefix(1).uppercased() + message.dropFirst() }
}
