/// Detects the kind of media from its first bytes, for servers whose type is wrong or missing.
package enum ContentSniffer {
    /// The result of the detection.
    package enum Finding: Hashable, Sendable {
        case media(MediaKind)
        /// Text that begins like HTML, XML or JSON: an error page or a sign-in page, and no media.
        case markup
        case unknown
    }

    /// The number of bytes that the detection uses: the header of an Ogg page, and the name of the
    /// codec after it. Fewer may be given.
    package static let byteCount = 36

    /// Detects the kind of a resource from its first bytes.
    package static func look(at bytes: [UInt8]) -> Finding {
        if let kind = MediaKind.ofSignature(bytes) { return .media(kind) }
        if let kind = isoBaseMedia(bytes) { return .media(kind) }
        if let kind = audioFrame(bytes) { return .media(kind) }
        return isMarkup(bytes) ? .markup : .unknown
    }

    // MARK: Structures

    /// Returns the kind of a file with a box type at offset 4 (ISO/IEC 14496-12). The brand of
    /// `ftyp` determines the member of the family.
    private static func isoBaseMedia(_ bytes: [UInt8]) -> MediaKind? {
        guard bytes.count >= 8 else { return nil }
        let type = String(decoding: bytes[4..<8], as: UTF8.self)
        if ["moov", "mdat", "free", "wide", "skip"].contains(type) { return .mov }
        guard type == "ftyp" else { return nil }
        guard bytes.count >= 12 else { return .mp4 }
        let brand = String(decoding: bytes[8..<12], as: UTF8.self)
        if brand.hasPrefix("3g2") { return .mobile3GPP2 }
        if brand.hasPrefix("3g") { return .mobile3GPP }
        return ["M4A ": .m4a, "M4B ": .m4b, "M4V ": .m4v, "qt  ": .mov][brand] ?? .mp4
    }

    /// Returns the kind of MPEG audio. A frame begins with eleven ones, followed by layer 0 for
    /// ADTS and by layer 3 for mp3.
    private static func audioFrame(_ bytes: [UInt8]) -> MediaKind? {
        guard bytes.count >= 2, bytes[0] == 0xFF else { return nil }
        switch bytes[1] {
        case 0xFB, 0xFA, 0xF3, 0xF2: return .mp3
        case 0xF1, 0xF0, 0xF9, 0xF8: return .aac
        default: return nil
        }
    }

    private static func isMarkup(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        rest = rest.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
        return rest.first.map { [UInt8(ascii: "<"), UInt8(ascii: "{"), UInt8(ascii: "[")].contains($0) } == true
    }
}
