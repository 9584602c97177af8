public import Foundation
import SpoolSystem

/// A system of keys for protected media.
public struct AVContentKeySystem: RawRepresentable, Hashable, Sendable {
    /// The name of the system.
    public let rawValue: String

    /// Makes a system from its name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// FairPlay Streaming.
    public static let fairPlayStreaming = AVContentKeySystem(rawValue: "FairPlayStreaming")
}

/// An object that gets keys from a session.
public protocol AVContentKeyRecipient: NSObjectProtocol {}

extension AVURLAsset: AVContentKeyRecipient {}

/// Keys for the assets of an app. The double only keeps the recipients.
open class AVContentKeySession: NSObject, @unchecked Sendable {
    // Safe to share: the recipients are behind the lock.
    private let recipients = Locked<[AVURLAsset]>([])

    /// Makes a session for a system of keys.
    public init(keySystem: AVContentKeySystem) { super.init() }

    /// Adds an asset that gets keys from this session.
    open func addContentKeyRecipient(_ recipient: any AVContentKeyRecipient) {
        guard let asset = recipient as? AVURLAsset else { return }
        recipients.withLock { $0.append(asset) }
    }

    /// The assets that get keys from this session.
    open var contentKeyRecipients: [any AVContentKeyRecipient] { recipients.withLock { $0 } }
}
