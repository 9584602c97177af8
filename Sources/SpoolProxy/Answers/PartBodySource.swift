import Spool
import SpoolCore
import SpoolServer

/// One part of a multipart body. Its reader joins when the part's turn comes, so that 64 parts do
/// not read at once.
///
/// When the resource changes in between, the body is cut short, because parts of two versions must
/// never mix.
final class PartBodySource: BodySource {
    private let cache: MediaCache
    private let url: MediaURL
    private let key: ResourceKey?
    private let page: String?
    private let range: ByteRange
    private let generation: GenerationID
    private let storesNothing: Bool
    private let relay = WakeRelay()
    private var source: SessionBodySource?
    private var reader: SessionReader?
    private var problem: String?

    /// - Parameter storesNothing: Whether the parts are passed on and not stored.
    init(
        cache: MediaCache, url: MediaURL, key: ResourceKey?, page: String?, range: ByteRange, generation: GenerationID, storesNothing: Bool
    ) {
        self.storesNothing = storesNothing
        self.cache = cache
        self.url = url
        self.key = key
        self.page = page
        self.range = range
        self.generation = generation
    }

    func onReadable(_ wake: @escaping @Sendable () -> Void) { relay.set(wake) }

    func next(max: Int) -> BodyChunk {
        if source == nil, problem == nil { join() }
        if let problem { return .abort(problem) }
        guard let reader, let source else { return .abort("the reader is gone") }
        switch reader.prepare() {
        case .wait: return .wait
        case .failed(let error): return .abort(error.message)
        case .ready(let current, _):
            guard current == generation else { return .abort("the resource changed between two parts") }
            reader.markTold()
            return source.next(max: max)
        }
    }

    private func join() {
        do {
            // The version was validated before the first part, so its stored bytes need no further
            // validation by the origin.
            var options = ReadOptions(cachePolicy: .storeEverything)
            options.site = page
            if storesNothing { options.mode = .doNotStore }
            let reader = try cache.sessionReader(
                for: url, key: key, start: range.lowerBound, end: range.upperBound, wantsBytes: true, options: options,
                wake: { [relay] in relay.wake() })
            self.reader = reader
            source = SessionBodySource(reader: reader, relay: relay)
        } catch {
            problem = error.message
        }
    }

    func consumed(_ count: Int) { source?.consumed(count) }

    func maySend(_ file: AnyObject) -> Bool { source?.maySend(file) != false }

    func couldNotRead() -> Bool { source?.couldNotRead() == true }

    func close() {
        source?.close()
        relay.clear()
    }
}
