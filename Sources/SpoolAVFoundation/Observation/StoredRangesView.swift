#if canImport(SwiftUI) && !os(watchOS)
public import SwiftUI

/// A bar that shows the stored stretches of an asset, for the back of a scrubber.
///
/// <!-- not compiled: SwiftUI exists on Apple's systems only -->
/// ```swift
/// ZStack {
///     StoredRangesView(asset: asset).frame(height: 4)
///     Slider(value: $position)
/// }
/// ```
///
/// It follows the asset's `progress`, has the tint of its surroundings, and runs in the direction of
/// the language. VoiceOver reads its label and the stored part in percent.
public struct StoredRangesView: View {
    private let asset: CachingAVURLAsset
    private let label: Text
    @State private var progress = AssetProgress()

    /// Creates a bar.
    ///
    /// - Parameters:
    ///   - asset: The asset whose stored bytes it shows.
    ///   - label: The label for VoiceOver.
    public init(asset: CachingAVURLAsset, label: Text = Text(verbatim: "Stored")) {
        self.asset = asset
        self.label = label
    }

    /// The bar.
    public var body: some View {
        ZStack {
            Capsule().fill(.quaternary)
            StoredRangesShape(progress: progress).fill(.tint)
        }
        .clipShape(Capsule())
        .flipsForRightToLeftLayoutDirection(true)
        .accessibilityElement()
        .accessibilityLabel(label)
        .accessibilityValue(Text(verbatim: "\(progress.percentCached) %"))
        .task(id: ObjectIdentifier(asset)) {
            for await progress in asset.progress { self.progress = progress }
        }
    }
}

/// The stored stretches of an asset as rectangles side by side, for a view of your own.
public struct StoredRangesShape: Shape {
    private let progress: AssetProgress

    /// Creates the shape of a progress.
    public init(progress: AssetProgress) { self.progress = progress }

    /// Returns one rectangle for each stored stretch, over the whole height.
    nonisolated public func path(in rect: CGRect) -> Path {
        var path = Path()
        for stretch in progress.stretches(inWidth: Double(rect.width)) {
            path.addRect(
                CGRect(
                    x: rect.minX + CGFloat(stretch.lowerBound), y: rect.minY, width: CGFloat(stretch.upperBound - stretch.lowerBound),
                    height: rect.height))
        }
        return path
    }
}
#endif
