package import SpoolCore

/// A format of manifests besides HLS. A module above this one reads it, so that an app whose player
/// does not play the format does not compile its parsers.
package protocol ManifestFormat: Sendable {
    /// Returns the parts of a manifest that matter, or nil when the bytes are of another format.
    ///
    /// - Throws: `ParseError` as `ManifestReader.contents(of:at:variables:)` does.
    func contents(of bytes: [UInt8], at url: String, limits: ManifestLimits) throws(ParseError) -> ManifestContents?

    /// Returns the renditions of a manifest, or nil when the bytes are of another format.
    ///
    /// - Throws: `ParseError` as `StreamOutline.read(_:at:variables:limits:formats:)` does.
    func outline(of bytes: [UInt8], at url: String, limits: ManifestLimits) throws(ParseError) -> StreamOutline?
}

extension ManifestReader {
    /// The bytes that are searched for the first element of an MPD: comments of packagers lie before
    /// it.
    private static let bytesBeforeMPD = 4096

    /// Whether a document begins as the MPD of DASH does, for a refusal where no format reads it.
    package static func beginsAsMPD(_ bytes: [UInt8]) -> Bool {
        bytes.dropFirst(bytes.countBeforeText).first == UInt8(ascii: "<") && bytes.prefix(bytesBeforeMPD).contains(Array("<MPD".utf8))
    }
}
