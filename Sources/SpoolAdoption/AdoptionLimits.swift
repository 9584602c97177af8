/// The bounds on what is read of the index of another cache.
///
/// Indexes are untrusted. Each bound is far above what the libraries write, and keeps a hostile
/// file from using much memory or time.
package struct AdoptionLimits: Sendable {
    /// The most bytes of one index file.
    package var archiveBytes = 64 << 20
    /// The most values of one index file.
    package var values = 1 << 20
    /// The most references from one value to another in one index file. Values may share others, so
    /// this number is independent of the size of the file.
    package var references = 4 << 20
    /// The most bytes of all texts of one index file. Texts may overlap in the file.
    package var textBytes = 64 << 20
    /// The most levels of values inside other values.
    package var depth = 64
    /// The most bytes of one URL.
    package var urlBytes = 16 << 10
    /// The most fields and stored parts of all resources of one index file together. Resources may
    /// share them, as values do.
    package var members = 4 << 20
    /// The most stored parts of one resource.
    package var parts = 100_000
    /// The most files in the directory of a store.
    package var files = 200_000
    /// The most levels of directories below that directory.
    package var directoryDepth = 8

    /// The usual bounds.
    package init() {}
}
