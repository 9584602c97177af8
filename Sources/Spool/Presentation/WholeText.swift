/// The whole text of a manifest, as readers get it.
///
/// Everything that reads the text shares one copy of its bytes: copies of the value are free.
package struct WholeText: Sendable {
    package let bytes: [UInt8]
    /// The URL that its references are resolved against.
    package let url: String

    /// Creates a text from all of its bytes.
    package init(_ bytes: [UInt8], at url: String) {
        self.bytes = bytes
        self.url = url
    }
}
