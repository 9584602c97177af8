/// The budget of one manifest: the most that reading and rewriting it may cost.
///
/// A document beyond the budget is passed on as it is. All costs are linear in the size of the
/// document and in these numbers.
package struct ManifestLimits: Hashable, Sendable {
    /// The most bytes of a manifest. A day of two-second segments with long signatures takes 13
    /// MiB.
    package var maxBytes = 16 << 20
    /// The most lines of a playlist: eight for each of those segments.
    package var maxLines = 1 << 20
    /// The deepest nesting of elements in XML and of containers in JSON.
    package var maxDepth = 64
    /// The most references of a manifest.
    package var maxReferences = 1 << 18
    /// The most values of a JSON text, of any kind. An asset list has a few for each asset.
    package var maxValues = 1 << 18
    /// The most attributes of one line of a playlist, and of one element of XML. The largest
    /// element of DASH has about 40.
    package var maxAttributes = 128
    /// The most variables that one playlist defines, with definitions that are ignored.
    package var maxVariables = 1_024
    /// The most bytes of the names and values of those variables. Signatures take some KiB.
    package var maxVariableBytes = 256 << 10
    /// The most bytes that variables contribute to the references of one manifest.
    package var maxSubstitutedBytes = 32 << 20
    /// The most bytes that resolving references adds to reading them once: for each one the path of
    /// its base and ``bytesOfReference``, and the reference itself for each further base. 40 000
    /// references below a path of 150 bytes take it.
    package var maxResolvedBytes = 8 << 20
    /// The most bytes of the URLs of all parts of an outline, and of the values that lead to them. A
    /// stream of a day in six renditions takes about 50 MiB.
    package var maxOutlineBytes = 64 << 20
    /// The bytes that stand for the constant part of resolving a reference.
    package static let bytesOfReference = 32

    /// Creates the limits with their defaults.
    package init() {}

    /// The limits for a document that is read on an event loop: they end the work after a few
    /// milliseconds. A document beyond them is read on a lane.
    package static let onLoop: ManifestLimits = {
        var limits = ManifestLimits()
        limits.maxBytes = 64 << 10
        limits.maxSubstitutedBytes = 256 << 10
        limits.maxResolvedBytes = 16 << 10
        return limits
    }()

    /// The most bytes that a document of `count` bytes grows by. A playlist with absolute
    /// references and their durations grows by less than its size. In the query form with a key,
    /// each relative reference grows by the address of the proxy and of the playlist's directory.
    func addedBytes(_ count: Int) -> Int { 6 * count + (512 << 10) }

    /// The limit of resolved bytes, for errors.
    package var resolvedBytesLimit: String { "references that take at most \(maxResolvedBytes) bytes to resolve" }
}
