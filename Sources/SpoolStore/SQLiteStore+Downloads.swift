package import SpoolCore

// The list of downloads. A change uses the reserve when the disk is full.

extension SQLiteStore {
    package func downloads() throws(StoreError) -> [StoredDownload] { try read { (index) throws(StoreError) in try index.downloads.all() } }

    package func setDownload(_ key: ResourceKey, _ entry: StoredDownload?) throws(StoreError) {
        try writeWithReserve { (index) throws(StoreError) in try index.setDownload(key, entry) }
    }

    package func downloadBytes() throws(StoreError) -> Int64 { try read { (index) throws(StoreError) in try index.downloads.bytes() } }
}
