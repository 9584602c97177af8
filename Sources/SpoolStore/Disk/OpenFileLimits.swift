/// The number of descriptors that a store uses for its data files. Descriptors that a response is
/// being sent from come in addition.
package struct OpenFileLimits: Sendable {
    /// The share of an app. Its process may have only 256 descriptors, as on Apple's systems, and
    /// needs most of them itself.
    package static let appDescriptors = 64
    /// The smallest share. With fewer descriptors the store would open and close a file for each
    /// call.
    package static let leastDescriptors = 16

    /// The number of data files that stay open between uses: half of the descriptors. Beyond it,
    /// the store closes the longest unused file.
    package let keptFiles: Int
    /// The number of handles of written files that are kept until the next durable point: an eighth
    /// of the descriptors. A running durable point has as many again. A disk syncs small files more
    /// slowly than the store writes them, so the durable point opens further files again to sync
    /// them.
    package let unsyncedHandles: Int

    /// Divides a number of descriptors, at least `leastDescriptors`.
    package init(descriptors: Int = OpenFileLimits.appDescriptors) {
        let descriptors = max(descriptors, Self.leastDescriptors)
        keptFiles = descriptors / 2
        unsyncedHandles = descriptors / 8
    }

    /// Sets both numbers. Tests use it for a store that closes files all the time.
    package init(keptFiles: Int, unsyncedHandles: Int) {
        self.keptFiles = keptFiles
        self.unsyncedHandles = unsyncedHandles
    }
}

/// Open files that may be closed while they are unused, in the order of a second-chance queue: a
/// file that was used since the last look goes to the end.
struct ClosableFiles {
    private struct Entry {
        let id: ObjectIdentifier
        weak var file: StoreDataFile?
    }

    /// The files that are open.
    private var open: Set<ObjectIdentifier> = []
    private var entries: [Entry] = []
    /// The index of the first entry. Entries before it were taken out.
    private var first = 0
    /// The number of entries that starts a sweep of closed and released files.
    private var sweepsAt = ClosableFiles.sweepThreshold
    private static let sweepThreshold = 128

    /// The number of open files.
    var count: Int { open.count }

    /// Enters a file that was opened, at the end.
    mutating func append(_ file: StoreDataFile) {
        open.insert(ObjectIdentifier(file))
        putBack(file)
    }

    /// Enters an open file at the end.
    mutating func putBack(_ file: StoreDataFile) {
        if entries.count >= sweepsAt {
            // The sweep does not read the weak references. If it held the last reference to a file,
            // the file's deinit would take the lock that is held here.
            entries = entries[first...].filter { open.contains($0.id) }
            first = 0
            sweepsAt = max(Self.sweepThreshold, 2 * entries.count)
        }
        entries.append(Entry(id: ObjectIdentifier(file), file: file))
    }

    /// Stops counting a file that was closed, was released, or stays open from now on.
    mutating func remove(_ file: ObjectIdentifier) { open.remove(file) }

    /// Removes and returns the first file of the queue. It may already be closed.
    mutating func popFirst() -> StoreDataFile? {
        while first < entries.count {
            defer { first += 1 }
            if let file = entries[first].file { return file }
        }
        return nil
    }
}

extension OpenFileLimits {
    /// The number of idle sessions that stay, of at most `count`. In a process that only reads, an
    /// idle session keeps its file open, because the writer may punch the file once it is closed. In
    /// the process that writes, the store closes files by itself.
    package func idleSessions(_ count: Int, isWritable: Bool) -> Int { isWritable ? count : min(count, keptFiles) }
}
