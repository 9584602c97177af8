/// The length of a representation, as a response states it.
package enum StatedLength: Hashable, Sendable {
    /// The response states none.
    case unknown
    /// At most `ByteRange.maximumOffset`.
    case bytes(Int64)
    /// More than `ByteRange.maximumOffset`. Media servers send such numbers for a stream that they transcode while it is played:
    /// the length is not known. The bytes are passed on and not stored.
    case beyondBound

    /// The length that a number states, which is not negative.
    init(_ number: Int64) {
        self = number <= ByteRange.maximumOffset ? .bytes(number) : .beyondBound
    }

    /// The number of bytes, where it is known.
    package var bytes: Int64? {
        if case .bytes(let count) = self { count } else { nil }
    }
}
