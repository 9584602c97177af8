import Spool
import SpoolCore
import SpoolOrigin
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Many threads use one cache, for the thread sanitizer: readers that come and go, removals, new
/// versions, a bad origin.
@Suite(.timeLimit(.minutes(20))) struct EngineStressTests {
    private static let length: Int64 = 2 << 20

    @Test func `readers, cancels, removals and new versions on real threads cause no race`() async throws {
        let random = SeededRandom(seed: Seeds.list(count: 1)[0])
        var configuration = Configuration()
        configuration.fetching.bufferCount = 2
        configuration.fetching.maximumFetchesPerHost = 3
        configuration.fetching.idleSessionCount = 0
        let bench = try Bench(
            length: Self.length, behaviour: { Self.behaviour(random) }, configuration: configuration)
        let versions = [bench.resource, bench.resource.version(seed: 8)]
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<6 {
                group.addTask { for _ in 0..<250 { await Self.readOnce(bench, versions, random) } }
            }
            group.addTask {
                for turn in 0..<300 {
                    if turn % 60 == 59 { bench.origin.serve(versions[turn / 60 % 2]) }
                    do {
                        if turn % 50 == 49 { try await bench.cache.remove(bench.key) }
                        _ = try await bench.cache.resources()
                    } catch {
                        Issue.record("\(error)")
                    }
                }
            }
            await group.waitForAll()
        }
        await bench.cache.close()
    }

    private static func readOnce(_ bench: Bench, _ versions: [VirtualResource], _ random: any RandomSource) async {
        let lower = Int64(random.next(below: UInt64(length)))
        let upper = lower + 1 + Int64(random.next(below: 400_000))
        do {
            let reader = try bench.reader()
            var position = lower, candidates = versions
            for try await chunk in reader.chunks(in: lower..<upper) {
                candidates = candidates.filter { bench.difference(chunk, at: position, of: $0) == nil }
                position += Int64(chunk.count)
                if candidates.isEmpty {
                    Issue.record("wrong bytes before \(position)")
                    return
                }
                if random.chance(1, in: 12) { return reader.cancel() }
                if random.chance(1, in: 12) { return }
            }
            if position != min(upper, length) { Issue.record("ended at \(position) of \(min(upper, length))") }
        } catch let error as CacheError {
            // The errors that a bad origin, a removal or a new version may cause.
            let allowed: [CacheError.Code] = [.representationChanged, .removed, .originStatus, .originUnreachable, .originMalformed]
            if !allowed.contains(error.code) { Issue.record("\(error)") }
        } catch {
            Issue.record("\(error)")
        }
    }

    private static func behaviour(_ random: any RandomSource) -> OriginBehaviour {
        switch random.next(below: 8) {
        case 0: .cut(afterBytes: Int64(random.next(below: 200_000)), .reset, .correct)
        case 1: .ignoresRange
        case 2: .fields(["Cache-Control": "no-store"], .correct)
        case 3: .status(503)
        default: .slow(chunkBytes: 1000...65_000)
        }
    }
}
