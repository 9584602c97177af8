#if !os(watchOS)
import Foundation

/// The parts of an app's App Transport Security settings that apply to media from loopback.
package struct TransportSecurity: Sendable {
    /// Whether AVFoundation may load plain HTTP from a loopback address.
    package var permitsLoopback: Bool

    /// The settings of this app.
    static let ofApp = TransportSecurity(Bundle.main.infoDictionary ?? [:])

    /// Reads the settings of an Info.plist.
    ///
    /// `NSAllowsArbitraryLoads` has no effect beside the keys for local networking, media and web
    /// content.
    package init(_ information: [String: Any]) {
        let settings = information["NSAppTransportSecurity"] as? [String: Any] ?? [:]
        func allows(_ key: String) -> Bool { settings[key] as? Bool == true }
        let local = "NSAllowsLocalNetworking", media = "NSAllowsArbitraryLoadsForMedia", web = "NSAllowsArbitraryLoadsInWebContent"
        let isOverridden = [local, media, web].contains { settings[$0] != nil }
        permitsLoopback = allows(local) || allows(media) || (!isOverridden && allows("NSAllowsArbitraryLoads"))
    }
}
#endif
