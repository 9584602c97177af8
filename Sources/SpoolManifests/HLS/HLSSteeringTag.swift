/// Decides whether a multivariant playlist keeps its content steering tag.
///
/// Steering works behind a proxy only when the steering manifest names each playlist by its stable
/// identifier: a new host name would name another proxy. Without identifiers the tag is removed,
/// which players must support, and the order of the variants decides.
struct HLSSteeringTag {
    private var span: Range<Int>?
    private var isFixed = false
    private var lacksIdentifier = false

    mutating func take(_ name: ArraySlice<UInt8>, _ attributes: HLSAttributes, span: Range<Int>) {
        if name.equals("EXT-X-CONTENT-STEERING") {
            self.span = self.span ?? span
            // A steering manifest inside the playlist can't be rewritten when it is reloaded.
            isFixed = attributes["SERVER-URI"]?.value.begins(with: "data:") != false
        } else if name.equals("EXT-X-STREAM-INF") || name.equals("EXT-X-I-FRAME-STREAM-INF") {
            lacksIdentifier = lacksIdentifier || attributes["STABLE-VARIANT-ID"] == nil
        } else if name.equals("EXT-X-MEDIA"), attributes["URI"] != nil {
            lacksIdentifier = lacksIdentifier || attributes["STABLE-RENDITION-ID"] == nil
        }
    }

    func remove(from contents: inout ManifestContents) {
        guard let span, isFixed || lacksIdentifier else { return }
        contents.remove([span])
    }
}
