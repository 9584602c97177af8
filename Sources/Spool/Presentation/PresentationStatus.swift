public import SpoolCore
import SpoolManifests

/// The stored part of an HLS or DASH presentation: its manifests, segments, keys and initialisation
/// sections as one thing.
public struct PresentationStatus: Sendable {
    /// One rendition that the manifest offers.
    public struct Track: Hashable, Sendable {
        /// The content of a track.
        public enum Kind: String, Sendable {
            /// A variant: a picture, or sound and picture in one.
            case video
            /// Sound.
            case audio
            /// Subtitles.
            case subtitles
            /// Pictures for seeking, and every other track.
            case other
        }

        /// The content of the track.
        public var kind: Kind
        /// The bits a second that the manifest states; 0 without one.
        public var bandwidth: Int64
        /// The height of the picture in pixels; 0 without one.
        public var height: Int64
        /// The language as a tag of RFC 5646; empty without one.
        public var language: String
        /// The number of parts, with the track's own playlist, or nil while that playlist is not
        /// stored.
        public var partCount: Int?
        /// The number of stored parts.
        public var storedPartCount: Int
        /// Whether every part is stored.
        public var isComplete: Bool
        /// Whether the track plays without the network: it is complete, and so is a rendition of
        /// each group that it needs.
        public var isPlayable: Bool
    }

    /// The key of the manifest, which names the presentation.
    public var key: ResourceKey
    /// The URL of the manifest.
    public var url: String
    /// The tracks in the order of the manifest. A period of DASH has tracks of its own.
    public var tracks: [Track]
    /// Whether the presentation still grows. It can't be complete then.
    public var isLive: Bool
    /// Whether the manifest is protected from eviction.
    public var isPinned: Bool
    /// The stored bytes of all resources together.
    public var storedBytes: Int64
    /// The resources with stored bytes, the manifest first. Other presentations may share them.
    public var resources: [ResourceKey]
    /// Whether one variant and its groups are stored, so that the presentation plays to its end
    /// without the network.
    public var isComplete: Bool
    /// The indices of `variants` among the tracks.
    private var variantIndices: [Int]

    /// The tracks that decide what plays: those with a picture, or the sound where there is no
    /// picture.
    public var variants: [Track] { variantIndices.map { tracks[$0] } }

    init(_ inventory: PresentationInventory) {
        key = inventory.manifest.key
        url = inventory.manifest.url
        isLive = inventory.outline.isLive
        isPinned = inventory.manifest.isPinned
        storedBytes = inventory.members.values.lazy.map(\.stored.totalBytes).saturatedSum
        resources = inventory.keys
        let playable = inventory.playable
        isComplete = !playable.isEmpty
        variantIndices = inventory.outline.variants
        tracks = zip(inventory.outline.renditions, inventory.tracks).enumerated().map { index, pair in
            Track(pair.0, pair.1, isPlayable: playable.contains(index))
        }
    }
}

extension PresentationStatus.Track {
    fileprivate init(_ rendition: StreamRendition, _ track: PresentationInventory.Track, isPlayable: Bool) {
        self.init(rendition)
        partCount = track.partCount
        storedPartCount = track.storedPartCount
        isComplete = track.isComplete
        self.isPlayable = isPlayable
    }

    /// Creates a track of which nothing is stored.
    init(_ rendition: StreamRendition) {
        switch rendition.kind {
        case .video: kind = .video
        case .audio: kind = .audio
        case .subtitles: kind = .subtitles
        case .other: kind = .other
        }
        bandwidth = rendition.bandwidth
        height = rendition.height
        language = rendition.language
        (partCount, storedPartCount, isComplete, isPlayable) = (nil, 0, false, false)
    }
}
