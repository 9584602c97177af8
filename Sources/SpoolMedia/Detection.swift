/// Returns a reader for the container that the file's first bytes show.
///
/// - Throws: `.missing` until enough bytes are there, `.malformed` for a file of another kind.
func detectContainer(_ bytes: KnownBytes, _ limits: MediaLimits) throws(MediaReadFailure) -> any ContainerReader {
    let head = try bytes.read(12, at: 0)
    if let code = head.code(at: 4), MovieReader.firstBoxes.contains(code) { return MovieReader(limits: limits) }
    if head.starts(withText: "fLaC") { return FLACReader(start: 0, limits: limits) }
    if head.starts(withText: "OggS") { return OggReader(limits: limits) }
    if head.code().map(WaveReader.forms.contains) ?? false, head.code(at: 8) == "WAVE" { return WaveReader(limits: limits) }
    if head.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) { return MatroskaReader(limits: limits) }
    let start = try ID3Tag.end(bytes, at: 0, limits)
    let first = try bytes.read(4, at: start)
    if first.starts(withText: "fLaC") { return FLACReader(start: start, limits: limits) }
    if ADTSHeader(first) != nil { return FrameReader<ADTSHeader>(start: start, limits: limits) }
    if start > 0 || MPEGAudioHeader(first) != nil { return FrameReader<MPEGAudioHeader>(start: start, limits: limits) }
    throw .malformed("Spool does not read the container that the first bytes show")
}

/// The tags that taggers put before an audio stream (ID3v2, id3.org/id3v2.4.0-structure §3.1).
enum ID3Tag {
    /// The most tags in a row. Broken taggers put a new tag before the old one.
    private static let maximumTags = 8

    /// Returns the offset behind the tags at `offset`, or `offset` if there is none.
    static func end(_ bytes: KnownBytes, at offset: Int64, _ limits: MediaLimits) throws(MediaReadFailure) -> Int64 {
        var end = offset
        for _ in 0..<maximumTags {
            if bytes.isEnd(end + 9) { return end }
            let header = try bytes.read(10, at: end)
            guard header.starts(withText: "ID3") else { return end }
            let start = header.startIndex
            // Seven bits of each byte count.
            let size = header[(start + 6)...].reduce(Int64(0)) { $0 << 7 | Int64($1 & 0x7F) }
            let hasFooter = header[start + 5] & 0x10 != 0
            end += 10 + size + (hasFooter ? 10 : 0)
            guard end <= offset + limits.indexBytes else { throw .malformed("an ID3 tag of \(size) bytes") }
        }
        return end
    }
}
