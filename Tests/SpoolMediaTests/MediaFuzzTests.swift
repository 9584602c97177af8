import Foundation
import SpoolCore
import SpoolMedia
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Feeds the readers of containers with broken files. No reader traps, and each ends after reading
/// no more than the file.
@Suite(.timeLimit(.minutes(20))) struct MediaFuzzTests {
    /// The number of derived files of each container. `SPOOL_FUZZ` multiplies it.
    private static let rounds = 40 * max(1, ProcessInfo.processInfo.environment["SPOOL_FUZZ"].flatMap { Int($0) } ?? 1)
    /// The most bytes of a file. Small files put more of the changes into headers.
    private static let maximumBytes = 40_000

    @Test(arguments: Samples.all)
    func `a broken file gives a plan within the file, or a reason`(sample: Samples.File) throws {
        let seed = Seeds.list(count: 1)[0]
        let random = SeededRandom(seed: seed)
        let original = Array(sample.bytes.prefix(Self.maximumBytes))
        for round in 0..<Self.rounds {
            var bytes = original
            for _ in 0...random.next(below: 4) { Self.change(&bytes, random) }
            let seconds = [0.5, 10, 1e6][Int(random.next(below: 3))]
            let limits = random.next(below: 2) == 0 ? MediaLimits() : .short
            let run = try MediaFile(bytes).plan(seconds: seconds, limits: limits, isLengthKnown: random.next(below: 4) > 0)
            let isInside = run.plan?.ranges.upperBound.map { $0 <= ByteRange.maximumOffset } ?? true
            #expect(isInside && (run.plan != nil || run.reason?.isEmpty == false), "\(sample.name), seed \(seed), round \(round)")
        }
    }

    private static func change(_ bytes: inout [UInt8], _ random: SeededRandom) {
        // Headers are at the beginning, so most changes are there.
        let bound = random.next(below: 3) > 0 ? min(bytes.count, 1500) : bytes.count
        let place = Int(random.next(below: UInt64(bound + 1)))
        switch random.next(below: 7) {
        case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8(random.next(below: 8))
        case 1 where place < bytes.count: bytes[place] = UInt8(random.next(below: 256))
        case 2: bytes.removeSubrange(place..<min(bytes.count, place + 8))
        case 3: bytes.insert(contentsOf: bytes[place...].prefix(64), at: place)
        case 4: bytes.removeSubrange(place...)
        case 5:
            let extreme: UInt8 = random.next(below: 2) == 0 ? 0xFF : 0
            let end = min(bytes.count, place + 1 + Int(random.next(below: 8)))
            for index in place..<end { bytes[index] = extreme }
        default: bytes.insert(UInt8(random.next(below: 256)), at: place)
        }
    }
}
