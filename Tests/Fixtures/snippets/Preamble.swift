import AVFoundation
import Foundation
import Spool
import SpoolAVFoundation
import SpoolBlobs
import SpoolOrigin
import SpoolProxy
import SpoolTesting

// The names that the snippets of the documentation use without declaring them: the parts of an app
// around the cache. Nothing here runs; scripts/snippets only checks types.

var cache: MediaCache { fatalError() }
var configuration: Configuration {
    get { fatalError() }
    set {}
}
var url: URL { fatalError() }
var urls: [URL] { fatalError() }
var masterPlaylistURL: URL { fatalError() }
var text: String { fatalError() }
var documents: String { fatalError() }
var reader: ByteReader { fatalError() }
var key: ResourceKey { fatalError() }
var asset: CachingAVURLAsset { fatalError() }
@MainActor var item: AVPlayerItem { fatalError() }
@MainActor var player: AVPlayer { fatalError() }
@MainActor var controller: PlaybackController { fatalError() }
var blobs: any BlobStore { fatalError() }
var film: VirtualResource { fatalError() }
var origin: ScriptedOrigin { fatalError() }
var disk: MemoryDisk { fatalError() }
var clock: ManualTime { fatalError() }
var transport: any Transport { fatalError() }
var transform: any ContentTransform { fatalError() }

struct Decoder { func feed(_ bytes: [UInt8]) {} }
var decoder: Decoder { fatalError() }

struct Bar { var stretches: [ClosedRange<Double>] = [] }
@MainActor var bar = Bar()
struct Label { var text = "" }
@MainActor var label = Label()
struct ProgressView { var observedProgress: Progress? }
@MainActor var progressView = ProgressView()
func show(_ value: some Any) {}
struct AppService: Sendable { func sign(_ url: URL) async throws -> URL { url } }
let api = AppService()
