import SpoolCore
package import SpoolSystem

/// The layout of a media file: the bytes to read before playback, and the samples.
package struct SimulatedMedia: Sendable {
    /// The layouts of media files.
    package enum Kind: CaseIterable, Sendable {
        /// Frames from the first byte on.
        case mp3
        /// The index first, then samples.
        case fastStart
        /// A few bytes, samples, then the index.
        case indexAtEnd
        /// The index first, then all of one track, then all of the other.
        case tracksApart
    }

    /// The layout of the file.
    package var kind: Kind
    /// A label for tests.
    package var label = ""
    /// The duration.
    package var seconds: Double
    /// The number of bytes at the front that must be parsed before the media is ready.
    package var headBytes: Int64
    /// The number of bytes of an index at the end.
    package var tailBytes: Int64
    /// Returns the index in the buffer of the first byte that differs from the file at that offset,
    /// or nil if all are right.
    package var firstDifference: @Sendable (UnsafeRawBufferPointer, Int64) -> Int?

    /// Makes a layout.
    package init(
        kind: Kind, seconds: Double, headBytes: Int64, tailBytes: Int64 = 0,
        firstDifference: @escaping @Sendable (UnsafeRawBufferPointer, Int64) -> Int?
    ) {
        precondition(seconds > 0 && headBytes >= 0 && tailBytes >= 0, "media has a length and no negative parts")
        self.kind = kind
        self.seconds = seconds
        self.headBytes = headBytes
        self.tailBytes = tailBytes
        self.firstDifference = firstDifference
    }

    /// Returns random media whose parts fit a file of `length` bytes.
    package static func random(
        length: Int64, seconds: ClosedRange<Int64>, using random: any RandomSource,
        firstDifference: @escaping @Sendable (UnsafeRawBufferPointer, Int64) -> Int?
    ) -> SimulatedMedia {
        let kind = Kind.allCases[Int(random.next(below: UInt64(Kind.allCases.count)))]
        let part = max(1, length / 16)
        return SimulatedMedia(
            kind: kind, seconds: Double(random.number(in: seconds)), headBytes: random.number(in: 1...part),
            tailBytes: kind == .indexAtEnd ? random.number(in: 1...part) : 0, firstDifference: firstDifference)
    }

    /// The ranges that must be read before the media is ready, in a file of `length` bytes.
    func headers(length: Int64) -> [ByteRange] {
        let head = kind == .indexAtEnd ? min(32, length) : headBytes
        return [ByteRange(0, min(head, length)), ByteRange(max(0, length - tailBytes), length)].compactMap(\.self)
    }

    /// The ranges of the samples, one for each track that lies apart.
    func tracks(length: Int64) -> [ByteRange] {
        let lower = kind == .indexAtEnd ? min(32, length) : min(headBytes, length)
        let upper = max(lower, length - tailBytes)
        switch kind {
        case .mp3: return [ByteRange(0, length)].compactMap(\.self)
        case .fastStart, .indexAtEnd: return [ByteRange(lower, upper)].compactMap(\.self)
        case .tracksApart:
            let middle = lower + (upper - lower) / 2
            return [ByteRange(lower, middle), ByteRange(middle, upper)].compactMap(\.self)
        }
    }
}

extension RandomSource {
    /// Returns a random number in a range.
    package func number(in range: ClosedRange<Int64>) -> Int64 {
        range.lowerBound + Int64(next(below: UInt64(range.upperBound - range.lowerBound) + 1))
    }

    /// Returns a random element.
    package func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int(next(below: UInt64(elements.count)))]
    }
}
