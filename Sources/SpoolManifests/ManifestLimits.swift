/// The bounds of a manifest that is read. A larger one is passed on as it is.
package struct ManifestLimits: Hashable, Sendable {
    /// The most bytes of a manifest. A day of two-second segments with long signatures takes 13 MiB.
    package var maxBytes = 16 << 20
    /// The most lines of a playlist: eight for each of those segments.
    package var maxLines = 1 << 20
    /// The deepest nesting of elements in XML and of containers in JSON.
    package var maxDepth = 64
    /// The most references of a manifest.
    package var maxReferences = 1 << 18
    /// The most variables that one playlist defines.
    package var maxVariables = 1_024
    /// The most bytes that variables contribute to the references of one manifest.
    package var maxSubstitutedBytes = 32 << 20

    /// Creates the limits with their defaults.
    package init() {}
}
