/// The bounds on what a reader of a container reads and keeps.
package struct MediaLimits: Hashable, Sendable {
    /// The largest index, such as the `moov` box of an MP4 file, in bytes. The index of a film of
    /// three hours has about 8 MiB.
    package var indexBytes: Int64 = 64 << 20
    /// The number of bytes that one request for more bytes asks for, at least.
    package var readBytes: Int64 = 16 << 10
    /// The longest skip, in bytes, that a reader fetches along with the bytes behind it.
    package var skipBytes: Int64 = 4 << 20
    /// The most bytes that a planner keeps: the largest index, and what is read around it. A reader
    /// that moves through the file releases the bytes behind it.
    package var keptBytes: Int64 = 80 << 20
    /// The most elements (boxes, chunks, pages, frames, blocks) that one reader visits. Ten hours of
    /// MP3 have 1.4 million frames.
    package var elements = 4_000_000
    /// The most ranges of a plan. An interleaved file has one, others one for each chunk and track.
    package var ranges = 100_000
    /// The most bytes between two frames of a stream without an index. Longer stretches of other
    /// data mean that the file is not of this container.
    package var junkBytes: Int64 = 256 << 10

    /// The default bounds.
    package init() {}
}
