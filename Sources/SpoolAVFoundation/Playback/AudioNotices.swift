#if !os(watchOS)
package import Foundation
#if os(iOS) || os(tvOS)
import AVFoundation
#endif

/// The notifications of the audio session, of which a controller uses two: an interruption begins,
/// and the device that played is gone.
///
/// The names are written out, because macOS has no audio session.
package struct AudioNotices: Sendable {
    package static let interruption = Notification.Name("AVAudioSessionInterruptionNotification")
    package static let routeChange = Notification.Name("AVAudioSessionRouteChangeNotification")
    /// The key and the value for the beginning of an interruption.
    package static let interruptionTypeKey = "AVAudioSessionInterruptionTypeKey"
    package static let began: UInt = 1
    /// The key and the value for a device that is gone, such as headphones that were pulled out.
    package static let routeChangeReasonKey = "AVAudioSessionRouteChangeReasonKey"
    package static let oldDeviceUnavailable: UInt = 2

    /// Whether the sound goes to an AirPlay receiver. macOS has no audio session, and visionOS
    /// sends video to no receiver.
    static var hasAirPlayRoute: Bool {
        #if os(iOS) || os(tvOS)
        AVAudioSession.sharedInstance().currentRoute.outputs.contains { $0.portType == .airPlay }
        #else
        false
        #endif
    }

    /// Whether the user no longer hears the player, who did not ask for that.
    static func isLoss(_ notice: Notification) -> Bool {
        switch notice.name {
        case interruption: notice.userInfo?[interruptionTypeKey] as? UInt == began
        case routeChange: notice.userInfo?[routeChangeReasonKey] as? UInt == oldDeviceUnavailable
        default: false
        }
    }
}
#endif
