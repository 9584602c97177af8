import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

extension SQLiteStore {
    /// Returns a store whose index and data are both on a disk in memory.
    static func simulated(
        on disk: MemoryDisk, directory: String = "/cache", bootID: String = "first boot", encryption: EncryptionOptions? = nil,
        onRecovery: @escaping @Sendable (RecoveryNote) -> Void = { _ in }
    ) throws(StoreError) -> SQLiteStore {
        var options = Options()
        options.usesFileSystemForIndex = true
        options.bootID = bootID
        options.processID = 1
        options.encryption = encryption
        options.onRecovery = onRecovery
        return try SQLiteStore(directory: directory, fileSystem: disk, random: SeededRandom(seed: 7), options: options)
    }
}

/// The expected content of a store after each step of a script, and the number of disk changes up
/// to there.
struct StoreModel {
    /// The generation and spans of a key.
    struct Entry: Hashable {
        var generation: GenerationID
        var spans: ByteRangeSet
    }

    struct Moment {
        /// The number of disk changes up to the end of the step.
        var operations: Int
        var entries: [ResourceKey: Entry]
        /// Whether the step was a durable point.
        var isDurable: Bool
    }

    private(set) var moments = [Moment(operations: 0, entries: [:], isDurable: true)]

    /// Records the end of a step.
    mutating func step(_ disk: MemoryDisk, isDurable: Bool = false, _ change: (inout [ResourceKey: Entry]) -> Void = { _ in }) {
        var entries = moments[moments.count - 1].entries
        change(&entries)
        moments.append(Moment(operations: disk.operationCount, entries: entries, isDurable: isDurable))
    }

    /// The last moment that was complete after `operations` changes.
    func lastMoment(after operations: Int) -> Int {
        moments.lastIndex { $0.operations <= operations } ?? 0
    }

    /// The last durable moment at or before a moment.
    func durableMoment(before moment: Int) -> Int {
        moments[...moment].lastIndex { $0.isDurable } ?? 0
    }

    /// Returns the entries that must survive a power loss during the step after `moment`: the
    /// durable ones that were not removed since.
    func survivors(at moment: Int) -> [ResourceKey: Entry] {
        let durable = durableMoment(before: moment)
        let later = moments[durable...min(moment + 1, moments.count - 1)]
        var survivors = moments[durable].entries
        for (key, entry) in moments[durable].entries {
            var spans = entry.spans
            let others = later.map { $0.entries[key] }
            for case let other? in others { spans = spans.intersection(other.spans) }
            let isUnchanged = others.allSatisfy { $0?.generation == entry.generation }
            survivors[key] = isUnchanged ? StoreModel.Entry(generation: entry.generation, spans: spans) : nil
        }
        return survivors
    }
}

extension StoreSample {
    /// Expects that every byte a reader gets of this resource is the written one.
    func expectBytes(of resource: StoredResource, in store: SQLiteStore, _ label: String) throws {
        guard !resource.spans.isEmpty else { return }
        let file = try store.dataFile(of: resource.generation, key: key, fileExtension: resource.fileExtension)
        for span in try resource.spans.subtracting(store.damagedSpans(of: resource, in: file)).ranges {
            let bytes = try file.bytes(at: span.lowerBound, count: Int(span.count))
            let wanted = pattern(resource.generation.rawValue, at: span.lowerBound, count: Int(span.count))
            // This does not use `#expect(bytes == wanted)`, because printing the difference of long
            // arrays takes minutes.
            guard bytes != wanted else { continue }
            let wrong = zip(bytes, wanted).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? min(bytes.count, wanted.count)
            Issue.record("\(label): byte \(span.lowerBound + Int64(wrong)) of \(key) \(resource.generation) is wrong, in span \(span)")
        }
    }
}

extension SQLiteStore {
    /// Returns the spans of a resource that a reader can get.
    func readableSpans(of resource: StoredResource?) throws -> ByteRangeSet {
        guard let resource, !resource.spans.isEmpty else { return ByteRangeSet() }
        let file = try dataFile(of: resource.generation, key: resource.key, fileExtension: resource.fileExtension)
        return try resource.spans.subtracting(damagedSpans(of: resource, in: file))
    }
}
