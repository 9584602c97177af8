public import Foundation

/// The audio of an app. The double has the declarations for the route only.
@available(macOS, unavailable)
open class AVAudioSession: NSObject, @unchecked Sendable {
    // Safe to share: the double's session has no state.

    /// A kind of device.
    public struct Port: Hashable, RawRepresentable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        /// An AirPlay receiver.
        public static let airPlay = Port(rawValue: "AirPlay")
    }

    private static let session = AVAudioSession()

    /// The session of the app.
    open class func sharedInstance() -> AVAudioSession { session }

    /// The devices that play and record now.
    open var currentRoute: AVAudioSessionRouteDescription { AVAudioSessionRouteDescription() }
}

/// The devices of a route.
@available(macOS, unavailable)
open class AVAudioSessionRouteDescription: NSObject {
    /// The devices that play.
    open var outputs: [AVAudioSessionPortDescription] { [] }
}

/// A device of a route.
@available(macOS, unavailable)
open class AVAudioSessionPortDescription: NSObject {
    /// The kind of the device.
    open var portType: AVAudioSession.Port { AVAudioSession.Port(rawValue: "") }
}
