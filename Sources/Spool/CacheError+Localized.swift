public import SpoolCore
// On Linux the small half of Foundation has the protocol, and a program that imports nothing else stays small.
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension CacheError: LocalizedError {
    /// The message as a sentence for an alert: `localizedDescription` returns it.
    public var errorDescription: String? { message.prefix(1).uppercased() + message.dropFirst() }
}
