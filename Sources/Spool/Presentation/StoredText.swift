import SpoolCore
import SpoolManifests
import SpoolStore
import SpoolSystem

/// Reads the text of a stored manifest, without the network. The work happens on a data lane.
final class StoredText: Sendable {
    private struct State {
        var reader: SessionReader?
        var bytes: [UInt8] = []
        /// The URL that the references of the text are resolved against.
        var baseURL = ""
        var isPrepared = false
        var done: Completion<WholeText?>?
    }

    private let url: String
    private let lane: any Mailbox
    private let state: Locked<State>
    /// The most bytes of one step.
    private static let stepBytes = 256 << 10
    /// The most bytes of a text.
    private static let limitBytes = ManifestLimits().maxBytes

    private init(url: String, lane: any Mailbox, done: @escaping Completion<WholeText?>) {
        self.url = url
        self.lane = lane
        state = Locked(State(done: done))
    }

    /// Reads a text, and passes it to `done` on a lane. The text is nil unless every byte is
    /// stored.
    static func read(_ status: ResourceStatus, from cache: MediaCache, _ done: @escaping Completion<WholeText?>) {
        guard status.isComplete, status.representation.length ?? 0 <= limitBytes, status.representation.fields.contentCoding == nil else {
            return done(.success(nil))
        }
        let text = StoredText(url: status.url, lane: cache.environment.dataLanes[0], done: done)
        // A manifest that must be revalidated is still a list of what is stored.
        let options = ReadOptions(cachePolicy: .storeEverything, mode: .onlyStored)
        do {
            let reader = try cache.sessionReader(
                for: status.url, key: status.key, start: 0, end: nil, wantsBytes: true, options: options, wake: { text.readSoon() })
            text.state.withLock { $0.reader = reader }
            text.readSoon()
        } catch {
            done(.failure(error))
        }
    }

    private func readSoon() { lane.post { self.readAvailable() } }

    private func readAvailable() {
        guard let reader = state.withLock({ $0.reader }) else { return }
        guard state.withLock({ $0.isPrepared }) || prepare(reader) else { return }
        while true {
            switch reader.next(max: Self.stepBytes) {
            case .file(let file, let range): take(range, of: file, reader)
            case .memory(let memory):
                let bytes = memory.copy()
                add(bytes)
                reader.advance(by: bytes.count, fromOrigin: true)
            case .wait: return
            case .end: return end(.success(state.withLock { WholeText($0.bytes, at: $0.baseURL) }))
            // Its bytes were evicted or replaced meanwhile.
            case .failed: return end(.success(nil))
            }
        }
    }

    private func prepare(_ reader: SessionReader) -> Bool {
        switch reader.prepare() {
        case .wait: return false
        case .failed:
            end(.success(nil))
            return false
        case .ready(_, let representation):
            reader.markTold()
            state.withLock { state in
                state.isPrepared = true
                state.baseURL = representation.finalURL ?? url
            }
            return true
        }
    }

    private func take(_ range: ByteRange, of file: any StoredBytes, _ reader: SessionReader) {
        // Bytes that can't be read are a gap from now on, and the next step fails.
        guard let bytes = reader.read(range, of: file) else { return }
        add(bytes)
        reader.advance(by: bytes.count, fromOrigin: false)
    }

    private func add(_ bytes: [UInt8]) { state.withLock { $0.bytes += bytes } }

    private func end(_ result: Result<WholeText?, CacheError>) {
        let (reader, done) = state.withLock { state in
            defer { (state.reader, state.done) = (nil, nil) }
            return (state.reader, state.done)
        }
        reader?.leave()
        done?(result)
    }
}
