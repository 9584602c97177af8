import SpoolTesting

extension MemoryDisk {
    /// The paths beside the media.
    var indexFiles: [String] {
        get throws { try list("/cache").filter { $0 != "data" }.map { "/cache/\($0)" } }
    }
}
