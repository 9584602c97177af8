// The declarations of AVKit that the examples use. The view belongs to an overlay, which comes with
// AVKit and SwiftUI together.
@_exported import AVFoundation
public import SwiftUI
#if canImport(UIKit)
public import UIKit

@MainActor open class AVPlayerViewController: UIViewController {
    open var player: AVPlayer?
}
#endif

public struct VideoPlayer: View {
    public init(player: AVPlayer?) {}
}
