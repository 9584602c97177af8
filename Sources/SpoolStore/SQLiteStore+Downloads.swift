package import SpoolCore

// The list of downloads. A change uses the reserve when the disk is full.

extension SQLiteStore {
    package func downloads() throws(StoreError) -> [StoredDownload] {
        try read { (index) throws(StoreError) in try index.downloads.all() }
    }

    package func setDownload(_ key: ResourceKey, _ entry: StoredDownload?) throws(StoreError) {
        try writeWithReserve { (index) throws(StoreError) in try index.setDownload(key, entry) }
    }

    package func downloadKeys() throws(StoreError) -> [ResourceKey: [ResourceKey]] {
        try read { (index) throws(StoreError) in try index.downloadParts.all(of: index.downloads.keys()) }
    }

    package func setDownloadPart(_ key: ResourceKey, of download: ResourceKey, _ isPart: Bool) throws(StoreError) {
        try writeWithReserve { (index) throws(StoreError) in try index.setDownloadPart(key, of: download, isPart) }
    }

    package func storedBytes(ofDownload key: ResourceKey) throws(StoreError) -> Int64 {
        try read { (index) throws(StoreError) in try index.downloadParts.storedBytes(of: key) }
    }

    package func pinnedBytes() throws(StoreError) -> Int64 {
        try read { (index) throws(StoreError) in try index.sizes.pinnedSum() }
    }

    package func downloadBytes() throws(StoreError) -> Int64 {
        try read { (index) throws(StoreError) in try index.sizes.downloadedSum(isSoleWriter: isWritable) }
    }
}
