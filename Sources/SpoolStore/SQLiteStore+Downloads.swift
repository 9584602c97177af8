package import SpoolCore

// The list of downloads.

extension SQLiteStore {
    /// Returns the entries of the list of downloads.
    package func downloads() throws(StoreError) -> [StoredDownload] {
        try read { (index) throws(StoreError) in try index.downloads.entries() }
    }

    /// Enters, replaces or removes an entry. Uses the reserve when the disk is full.
    package func setDownload(_ key: ResourceKey, _ entry: StoredDownload?) throws(StoreError) {
        try writeWithReserve { (index) throws(StoreError) in try index.setDownload(key, entry) }
    }

    /// Returns the bytes that the files of downloads occupy.
    package func downloadBytes() throws(StoreError) -> Int64 {
        try read { (index) throws(StoreError) in try index.downloads.allocatedBytes() }
    }
}
