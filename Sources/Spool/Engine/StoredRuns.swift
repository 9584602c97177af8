import SpoolCore
import SpoolStore
import SpoolSystem

/// Goes through stored bytes of one generation, one run at a time.
///
/// The index lane looks up the pieces of a run, and a data lane works on its bytes. Each run is one
/// job on each lane, so that other jobs get their turn in between. Between two runs the bytes may
/// be evicted or replaced.
struct StoredRuns: Sendable {
    /// Stored bytes within one row of the index, and the pieces that have bytes in their range, with
    /// whole blocks.
    struct Run: Sendable {
        let range: ByteRange
        let pieces: [Piece]

        /// Whether the index still has every byte of the range.
        var isStored: Bool { ByteRangeSet([range]).subtracting(ByteRangeSet(pieces.map(\.range))).isEmpty }
    }

    /// The event that follows a visit.
    enum Step {
        /// The walk goes on behind the run.
        case next
        /// The same run is looked up and visited once more.
        case again
        /// The index loses these damaged bytes, and then the walk goes on behind the run.
        case discard(ByteRangeSet)
        /// The walk ends without its completion handler, because the visit has handled the end.
        case stop
    }

    let engine: Engine
    let key: ResourceKey
    let generation: GenerationID
    /// The lane of the visits.
    let lane: any Mailbox

    /// - Parameter lane: The lane of the visits, or nil for the data lane of the generation.
    init(engine: Engine, key: ResourceKey, generation: GenerationID, lane: (any Mailbox)? = nil) {
        self.engine = engine
        self.key = key
        self.generation = generation
        self.lane = lane ?? engine.environment.dataLane(for: generation)
    }

    /// Visits every run of `spans` from `position` on, in order, with a state that each visit may
    /// change.
    ///
    /// - Parameters:
    ///   - cancellation: Returns an error to end the walk with. Asked before each run.
    ///   - done: Called on any thread, with the state after the last run, or with the error of the
    ///     cancellation or of the index.
    func walk<State: Sendable>(
        _ spans: ByteRangeSet, _ state: State, from position: Int64 = 0, cancellation: @escaping @Sendable () -> CacheError? = { nil },
        _ visit: @escaping @Sendable (Run, inout State) -> Step, done: @escaping Completion<State>
    ) {
        guard let range = spans.nextRun(at: position) else { return done(.success(state)) }
        if let error = cancellation() { return done(.failure(error)) }
        look(at: range) { found in
            do throws(CacheError) {
                var state = state
                let step = visit(try found.get(), &state)
                let after = state
                switch step {
                case .next: walk(spans, after, from: range.upperBound, cancellation: cancellation, visit, done: done)
                case .again: walk(spans, after, from: range.lowerBound, cancellation: cancellation, visit, done: done)
                case .discard(let damaged):
                    discard(damaged) { result in
                        if case .failure(let error) = result { return done(.failure(error)) }
                        walk(spans, after, from: range.upperBound, cancellation: cancellation, visit, done: done)
                    }
                case .stop: return
                }
            } catch {
                done(.failure(error))
            }
        }
    }

    /// Looks up one run, and passes it to `body` on the lane of the visits.
    func look(at range: ByteRange, _ body: @escaping Completion<Run>) {
        engine.onIndexLane(
            key,
            { [lane] (found: Result<[Piece], CacheError>) in
                if case .failure = found { return body(found.map { Run(range: range, pieces: $0) }) }
                lane.post { body(found.map { Run(range: range, pieces: $0) }) }
            }
        ) { [store = engine.store, generation] () throws(StoreError) in
            try store.pieces(of: generation, in: range).compactMap { $0.blocks(touching: range) }
        }
    }

    private func discard(_ damaged: ByteRangeSet, _ done: @escaping Completion<Void>) {
        engine.onIndexLane(key, done) { [store = engine.store, generation] () throws(StoreError) in
            try store.discard(damaged, of: generation)
        }
    }

    /// Makes a gap of damaged bytes, as if a reader had found them. Calls `done` on the index lane.
    func takeOut(_ damaged: ByteRangeSet, _ done: @escaping Completion<Void>) {
        // The index lane drops the old entry before a session fetches the bytes again. In the other
        // order, the index would lose bytes that were fetched and committed meanwhile.
        discard(damaged, done)
        engine.liveSession(of: key)?.forget(damaged, of: generation)
    }
}
