import SpoolCore

/// How many descriptors a store takes for its data files. Those that a client is being sent from at this moment come on top.
package struct OpenFileLimits: Sendable {
    /// The share of an app: its process may have no more than 256, as on Apple's systems, and needs most of them itself.
    package static let appDescriptors = 64
    /// Fewer would open and close a file for each call.
    package static let leastDescriptors = 16

    /// Data files that stay open between uses; the longest unused is closed for the next one. Half of the descriptors.
    package let keptFiles: Int
    /// Handles of written files that are kept until the next durable point; the point that is under way has as many. A disk syncs small
    /// files slower than they are stored, so files beyond are opened again to be synced. An eighth of the descriptors each.
    package let unsyncedHandles: Int

    package init(descriptors: Int = OpenFileLimits.appDescriptors) {
        let descriptors = max(descriptors, Self.leastDescriptors)
        keptFiles = descriptors / 2
        unsyncedHandles = descriptors / 8
    }

    /// For tests: a store that closes files all the time.
    package init(keptFiles: Int, unsyncedHandles: Int) {
        self.keptFiles = keptFiles
        self.unsyncedHandles = unsyncedHandles
    }
}

/// Open files that may be closed while nobody uses them, longest unused first, by second chance: one that was used since it was looked at
/// last goes to the end.
struct ClosableFiles {
    private struct Entry {
        let id: ObjectIdentifier
        weak var file: StoreDataFile?
    }

    /// The files that are open.
    private var open: Set<ObjectIdentifier> = []
    private var entries: [Entry] = []
    /// Where the entries begin; those before were taken out.
    private var first = 0
    /// With more entries than this, those of files that are closed or gone are swept out.
    private var sweepsAt = ClosableFiles.sweepThreshold
    private static let sweepThreshold = 128

    /// How many files are open.
    var count: Int { open.count }

    /// Enters a file that was opened, at the end.
    mutating func append(_ file: StoreDataFile) {
        open.insert(ObjectIdentifier(file))
        putBack(file)
    }

    /// Enters an open file at the end.
    mutating func putBack(_ file: StoreDataFile) {
        if entries.count >= sweepsAt {
            // The weak references are not looked at: the last one to let go of a file ends it, which takes the lock that is held here.
            entries = entries[first...].filter { open.contains($0.id) }
            first = 0
            sweepsAt = max(Self.sweepThreshold, 2 * entries.count)
        }
        entries.append(Entry(id: ObjectIdentifier(file), file: file))
    }

    /// A file was closed, is gone, or stays open from now on.
    mutating func remove(_ file: ObjectIdentifier) { open.remove(file) }

    /// Takes out the file that has been here longest. It may be closed already.
    mutating func popFirst() -> StoreDataFile? {
        while first < entries.count {
            defer { first += 1 }
            if let file = entries[first].file { return file }
        }
        return nil
    }
}
