public import Spool

extension Configuration {
    /// Whether the cache reads DASH manifests: for preloads, downloads and the proxy. The default is
    /// false, because the players of Apple's systems play HLS alone; then an MPD is a resource like
    /// any other.
    ///
    /// ```swift
    /// import SpoolDASH
    /// configuration.readsDASH = true
    /// ```
    public var readsDASH: Bool {
        get { manifestFormats.contains { $0 is DASHFormat } }
        set {
            manifestFormats.removeAll { $0 is DASHFormat }
            if newValue { manifestFormats.append(DASHFormat()) }
        }
    }
}
