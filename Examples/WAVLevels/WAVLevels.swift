// Feeds a decoder other than AVPlayer: computes the loudness of a WAV file, second by second, while it arrives through the cache.
//
// The decoder below is independent of caches and networks. It takes bytes in pieces of any size, and returns levels.
// `levels(of:through:)` connects it to the cache.

public import Spool

/// The loudness of each second of the WAV file at `url`, from 0 to 1, as soon as its last sample has arrived.
///
/// - Throws: `CacheError`, or `WAVDecoder.Failure` if the bytes are no 16-bit WAV.
public func levels(of url: String, through cache: MediaCache) async throws -> [Double] {
    var decoder = WAVDecoder()
    for try await chunk in try cache.reader(for: url).chunks() { try decoder.feed(chunk) }
    return decoder.finish()
}

/// Decodes RIFF WAVE with 16-bit PCM samples.
public struct WAVDecoder {
    public enum Failure: Error {
        /// The bytes do not begin like a WAV file.
        case notWAV
    }

    /// The header before the samples, in the common form of 44 bytes.
    private static let headerBytes = 44

    private var pending: [UInt8] = []
    private var samplesPerSecond = 0
    private var squares = 0.0
    private var count = 0
    private var levels: [Double] = []

    public init() {}

    /// Takes the next bytes, in any number.
    public mutating func feed(_ bytes: [UInt8]) throws {
        pending += bytes
        if samplesPerSecond == 0 {
            guard pending.count >= Self.headerBytes else { return }
            try readHeader()
            pending.removeFirst(Self.headerBytes)
        }
        let whole = pending.count / 2 * 2
        for index in stride(from: 0, to: whole, by: 2) {
            hear(Int16(bitPattern: UInt16(pending[index]) | UInt16(pending[index + 1]) << 8))
        }
        pending.removeFirst(whole)
    }

    /// The levels of all seconds; the last one may be shorter.
    public mutating func finish() -> [Double] {
        if count > 0 { closeSecond() }
        return levels
    }

    private mutating func readHeader() throws {
        let channels = Int(pending[22]) | Int(pending[23]) << 8
        let rate = Int(pending[24]) | Int(pending[25]) << 8 | Int(pending[26]) << 16
        let isWAV = pending[0..<4].elementsEqual("RIFF".utf8) && pending[8..<12].elementsEqual("WAVE".utf8)
        guard isWAV, pending[34] == 16, channels > 0, rate > 0 else { throw Failure.notWAV }
        samplesPerSecond = rate * channels
    }

    private mutating func hear(_ sample: Int16) {
        let level = Double(sample) / 32_768
        squares += level * level
        count += 1
        if count == samplesPerSecond { closeSecond() }
    }

    private mutating func closeSecond() {
        levels.append((squares / Double(count)).squareRoot())
        squares = 0
        count = 0
    }
}
