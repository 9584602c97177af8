public import Spool
import SpoolSystem

/// The rules for a `ContentTransform`, as checks on pseudo-random bytes. Violations are returned as
/// text.
///
/// ```swift
/// let contract = ContentTransformContract(key: ResourceKey(normalized: "https://example.com/film.mp4"))
/// #expect(contract.violations(of: transform) == [])
/// ```
public struct ContentTransformContract {
    private let key: ResourceKey
    private let seed: UInt64
    private let rounds: Int
    private let lengthBytes: Int

    /// Creates the contract for one resource.
    ///
    /// - Parameters:
    ///   - key: The key that the transform gets. No resource of that key has to exist.
    ///   - seed: Determines the bytes and ranges.
    ///   - rounds: The number of random ranges to try, at least 1.
    ///   - lengthBytes: The length of the made-up resource, at least 2.
    public init(key: ResourceKey, seed: UInt64 = 1, rounds: Int = 200, lengthBytes: Int = 300_001) {
        precondition(rounds > 0 && lengthBytes > 1, "\(rounds) rounds on \(lengthBytes) bytes")
        self.key = key
        self.seed = seed
        self.rounds = rounds
        self.lengthBytes = lengthBytes
    }

    /// Returns a description of each violation, or an empty array if the transform keeps the
    /// contract.
    ///
    /// The transform runs on the calling thread, a few hundred times. An error that it throws is a
    /// violation.
    public func violations(of transform: any ContentTransform) -> [String] {
        let random = SeededRandom(seed: seed)
        let source = random.bytes(lengthBytes)
        var violations: [String] = []
        do {
            let whole = try changed(source, 0, by: transform)
            if try changed(source, 0, by: transform) != whole { violations.append("the same bytes gave another result the second time") }
            violations += try ranges(random).compactMap { range in
                let part = try changed(Array(source[range]), Int64(range.lowerBound), by: transform)
                return part == Array(whole[range]) ? nil : "bytes \(range) come out otherwise than inside the whole"
            }
            violations += try farViolations(Array(source.prefix(1000)), by: transform)
        } catch {
            violations.append("threw \(error)")
        }
        return violations
    }

    /// Returns ranges at the edges of the blocks that ciphers have, and then random ranges.
    private func ranges(_ random: SeededRandom) -> [Range<Int>] {
        let edges = [0..<1, 1..<2, 15..<17, 16..<32, 17..<lengthBytes, 0..<lengthBytes - 1, lengthBytes - 1..<lengthBytes]
            .filter { !$0.isEmpty && $0.upperBound <= lengthBytes }
        return edges
            + (0..<rounds).map { _ in
                let lower = Int(random.next(below: UInt64(lengthBytes)))
                return lower..<lower + 1 + Int(random.next(below: UInt64(lengthBytes - lower)))
            }
    }

    /// Returns violations beyond 4 GiB, where a counter of 32 bits has wrapped around. There, too,
    /// the result must not depend on how bytes are divided.
    private func farViolations(_ source: [UInt8], by transform: any ContentTransform) throws -> [String] {
        try [Int64(1) << 32, (1 << 36) + 5, (1 << 40) - 7].compactMap { offset in
            let whole = try changed(source, offset, by: transform)
            let cut = source.count / 3
            let first = try changed(Array(source[..<cut]), offset, by: transform)
            let second = try changed(Array(source[cut...]), offset + Int64(cut), by: transform)
            return first + second == whole ? nil : "bytes at \(offset) come out otherwise when they are cut"
        }
    }

    private func changed(_ bytes: [UInt8], _ offset: Int64, by transform: any ContentTransform) throws -> [UInt8] {
        var bytes = bytes
        var failure: (any Error)?
        bytes.withUnsafeMutableBytes { buffer in
            do { try transform.transform(buffer, at: offset, of: key) } catch { failure = error }
        }
        if let failure { throw failure }
        return bytes
    }
}
