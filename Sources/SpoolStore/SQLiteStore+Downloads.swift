package import SpoolCore

// The list of downloads. A change uses the reserve when the disk is full. A store that an earlier
// version of the program has open for writing lacks tables, and so has no downloads or no parts.

extension SQLiteStore {
    package func downloads() throws(StoreError) -> [StoredDownload] {
        try read(orElse: []) { (index) throws(StoreError) in try index.downloads.all() }
    }

    package func setDownload(_ key: ResourceKey, _ entry: StoredDownload?) throws(StoreError) {
        try writeWithReserve { (index) throws(StoreError) in try index.setDownload(key, entry) }
    }

    package func downloadParts() throws(StoreError) -> [ResourceKey: [ResourceKey]] {
        try read(orElse: [:]) { (index) throws(StoreError) in try index.downloadParts.all(of: index.downloads.all().map(\.key)) }
    }

    package func setDownloadPart(_ key: ResourceKey, of download: ResourceKey, _ isPart: Bool) throws(StoreError) {
        try writeWithReserve { (index) throws(StoreError) in try index.setDownloadPart(key, of: download, isPart) }
    }

    package func storedBytes(ofDownload key: ResourceKey) throws(StoreError) -> Int64 {
        try read(orElse: lookup(key)?.spans.totalBytes ?? 0) { (index) throws(StoreError) in try index.downloadParts.storedBytes(of: key) }
    }

    package func downloadBytes() throws(StoreError) -> Int64 {
        try read(orElse: 0) { (index) throws(StoreError) in try index.downloads.bytes() }
    }

    private func read<Value>(
        orElse missing: @autoclosure () throws(StoreError) -> Value, _ body: (StoreIndex) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        do throws(StoreError) { return try read(body) } catch {
            guard error.meansMissingTable, !isWritable else { throw error }
            return try missing()
        }
    }
}
