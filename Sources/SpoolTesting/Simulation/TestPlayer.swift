public import Spool
public import SpoolCore

/// A player without a screen, which reads a resource through a cache as players of video do: first
/// its beginning, then its end, where many files have their index, then on from a position.
///
/// It compares every byte with those that the origin serves. One task at a time may use it.
///
/// ```swift
/// let player = try TestPlayer(cache: cache, playing: film)
/// try await player.open()
/// try await player.play(bytes: 1_000_000)
/// player.seek(to: 4_000_000)
/// try await player.play(bytes: 100_000)
/// #expect(player.firstWrongOffset == nil)
/// ```
public final class TestPlayer {
    /// The bytes that a player reads from the beginning and the end before it plays: 64 KiB.
    public static let headBytes = 65_536

    /// The resource as the origin serves it.
    public let resource: VirtualResource
    /// The offset of the next byte to play.
    public private(set) var position: Int64 = 0
    /// The number of bytes that were read.
    public private(set) var readBytes: Int64 = 0
    /// The offset of the first byte that differs from the resource, or nil if all were right.
    public private(set) var firstWrongOffset: Int64?
    private let reader: ByteReader

    /// Creates a player for a resource.
    ///
    /// - Parameters:
    ///   - cache: The cache to read through.
    ///   - resource: The resource as the origin serves it.
    ///   - options: The options of the player's reader.
    /// - Throws: The errors of `MediaCache.reader(for:key:options:)`.
    public init(cache: MediaCache, playing resource: VirtualResource, options: ReadOptions = ReadOptions()) throws(CacheError) {
        self.resource = resource
        reader = try cache.reader(for: resource.url, options: options)
    }

    /// Reads the metadata of the resource, its beginning, and its end.
    ///
    /// - Returns: The metadata.
    /// - Throws: The errors of `ByteReader.read(at:count:)`.
    @discardableResult
    public func open() async throws(CacheError) -> Representation {
        let found = try await reader.contentInformation()
        try await read(at: 0, count: Self.headBytes)
        if let length = found.length { try await read(at: max(0, length - Int64(Self.headBytes)), count: Self.headBytes) }
        return found
    }

    /// Plays on: reads bytes from the position, which moves along.
    ///
    /// - Parameter bytes: The number of bytes to play, at least 0.
    /// - Returns: The number of bytes that were there: fewer at the end of the resource.
    /// - Throws: The errors of `ByteReader.read(at:count:)`.
    @discardableResult
    public func play(bytes: Int64) async throws(CacheError) -> Int64 {
        var left = bytes
        while left > 0 {
            let played = try await read(at: position, count: Int(min(Int64(ByteReader.chunkBytes), left)))
            if played == 0 { break }
            position += Int64(played)
            left -= Int64(played)
        }
        return bytes - left
    }

    /// Moves the position, as the slider of a player does. Reads nothing.
    ///
    /// - Parameter offset: The offset of the next byte to play, at least 0.
    public func seek(to offset: Int64) { position = offset }

    /// Ends the player's reader.
    public func stop() { reader.cancel() }

    @discardableResult
    private func read(at offset: Int64, count: Int) async throws(CacheError) -> Int {
        let bytes = try await reader.read(at: offset, count: count)
        let wrong = bytes.withUnsafeBytes { resource.content.firstDifference(in: $0, at: offset) }
        if firstWrongOffset == nil, let wrong { firstWrongOffset = offset + Int64(wrong) }
        readBytes += Int64(bytes.count)
        return bytes.count
    }
}
