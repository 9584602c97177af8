import Foundation
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting

/// The parent process: starts players, kills them, and checks the remaining store.
struct Killer {
    /// The longest time from a player's start to its kill, in microseconds.
    static let lifeMicroseconds: UInt64 = 60_000
    /// The number of rounds after which the cache is emptied, so that stores of all sizes occur.
    static let roundsPerStore = 25
    static let quotaBytes: Int64 = 3 << 20
    /// The bytes that may be stored beyond the quota at any moment: one commit of each player, and
    /// the blocks that their ends share.
    static let slackBytes: Int64 = 2 << 20

    let options: CrashOptions

    init(_ options: CrashOptions) { self.options = options }

    func run() throws {
        guard options.rounds > 0 else { return }
        let random = SeededRandom(seed: options.seed)
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("spool-crash-" + UUID().uuidString).path
        defer { do { try FileManager.default.removeItem(atPath: root) } catch { Self.say("\(root) stays: \(error)") } }
        var stored: Int64 = 0
        // The most bytes that a store with a quota occupied.
        var occupied: Int64 = 0
        var round = 0
        while round < options.rounds {
            let directory = root + "/\(round)"
            // Half of the stores have a quota that is always too small.
            let quota: Int64? = (round / Self.roundsPerStore) % 2 == 0 ? nil : Self.quotaBytes
            var ledger = Ledger()
            for _ in 0..<min(Self.roundsPerStore, options.rounds - round) {
                let seed = random.next() >> 24
                let life = CrashOptions.Life(directory: directory, seed: seed, quotaBytes: quota)
                let lines = try Self.live(life, lifeMicroseconds: Self.lifeMicroseconds, random)
                ledger.read(lines)
                let remainder = try Remainder(directory, isTakenOver: random.next(below: 2) == 0, options: options)
                let problems = ledger.problems + remainder.problems + ledger.check(remainder, quota: quota)
                guard problems.isEmpty else {
                    throw CrashOptions.Complaint(
                        description: "round \(round + 1) of seed \(options.seed): \(problems.prefix(5).joined(separator: "; "))")
                }
                ledger.settle(remainder)
                stored = max(stored, remainder.storedBytes)
                if quota != nil { occupied = max(occupied, remainder.allocatedBytes) }
                round += 1
            }
            try FileManager.default.removeItem(atPath: directory)
        }
        print("\(options.rounds) kills, seed \(options.seed): every byte that was claimed is right, up to \(stored >> 10) KiB stored")
        print("quota \(Self.quotaBytes >> 10) KiB, up to \(occupied >> 10) KiB occupied")
    }

    /// Runs one process, and returns its output.
    ///
    /// - Parameter lifeMicroseconds: The longest time until it is killed, or nil if it ends by itself.
    static func live(_ life: CrashOptions.Life, lifeMicroseconds: UInt64?, _ random: SeededRandom) throws -> [String] {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = [
            "--child", life.directory, "--seed", "\(life.seed)", "--quota", "\(life.quotaBytes ?? 0)", "--work", life.work.rawValue,
        ]
        process.standardOutput = output
        try process.run()
        // The process writes one line when it begins. A kill before that line is a kill during the
        // opening, which happens in every tenth round.
        var said = Data()
        if let lifeMicroseconds {
            if random.next(below: 10) != 0 { said = output.fileHandleForReading.availableData }
            usleep(UInt32(random.next(below: lifeMicroseconds)))
            kill(process.processIdentifier, SIGKILL)
        }
        said += output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: said, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: true).map(String.init)
    }

    static func say(_ text: String) { FileHandle.standardError.write(Data("crash-test: \(text)\n".utf8)) }
}

/// The bytes that the players reported as stored, by resource.
struct Ledger {
    private(set) var problems: [String] = []
    private var committed: [String: Int64] = [:]
    /// Resources with evicted bytes, or with an eviction that may be running. How many of their
    /// bytes are left is unknown.
    private var evicted: Set<String> = []

    mutating func read(_ lines: [String]) {
        for line in lines {
            let words = line.split(separator: " ")
            switch words.first {
            case "c" where words.count == 3: committed[String(words[1]), default: 0] += Int64(words[2]) ?? 0
            case "e" where words.count == 2: evicted.insert(String(words[1]))
            case "w": problems.append(line)
            default: break
            }
        }
    }

    /// Returns the committed bytes that a store lacks, or its bytes beyond the quota.
    func check(_ remainder: Remainder, quota: Int64?) -> [String] {
        if let quota {
            let limit = quota + Killer.slackBytes
            let (found, known) = (remainder.allocatedBytes, remainder.countedBytes)
            return found <= limit ? [] : ["\(found) bytes are allocated, the index knows of \(known), the quota is \(quota)"]
        }
        return committed.sorted { $0.key < $1.key }.compactMap { url, bytes in
            let stored = remainder.stored[url] ?? 0
            return stored >= bytes || evicted.contains(url) ? nil : "\(bytes) bytes of \(url) were committed, \(stored) are there"
        }
    }

    /// A kill may fall between a commit and its report, so the ledger takes over the stored bytes.
    mutating func settle(_ remainder: Remainder) {
        committed = remainder.stored
        evicted = []
    }
}

/// The store that a killed process left, as the next process finds it.
struct Remainder {
    private(set) var problems: [String] = []
    /// Stored bytes by URL.
    private(set) var stored: [String: Int64] = [:]
    private(set) var spans: [String: ByteRangeSet] = [:]
    /// The entries of the list of downloads.
    private(set) var downloads: [StoredDownload] = []
    /// The parts of each entry, by their URLs.
    private(set) var parts: [String: Set<String>] = [:]
    private(set) var allocatedBytes: Int64 = 0
    /// The occupied bytes of the files according to the index.
    private(set) var countedBytes: Int64 = 0

    var storedBytes: Int64 { stored.values.reduce(0, +) }

    /// - Parameter isTakenOver: Whether to open the store for writing and close it, as the next
    ///   process would. Otherwise it stays unchanged.
    init(_ directory: String, isTakenOver: Bool, options: CrashOptions) throws {
        var storeOptions = SQLiteStore.Options()
        // A process that was killed before it had created the store leaves nothing to read.
        let isMade = FileManager.default.fileExists(atPath: directory + "/spool.sqlite-wal")
        storeOptions.isReadOnly = !isTakenOver && isMade
        storeOptions.mustBeWritable = isTakenOver
        let notes = Locked<[RecoveryNote]>([])
        storeOptions.onRecovery = { note in notes.withLock { $0.append(note) } }
        let store = try SQLiteStore(directory: directory, fileSystem: POSIXFileSystem(), random: SystemRandom(), options: storeOptions)
        for resource in try store.resources(after: nil, limit: 100) where !resource.spans.isEmpty {
            try look(at: resource, in: store)
        }
        downloads = try store.downloads()
        // The keys of the programme are its URLs.
        for (key, parts) in try store.downloadKeys() where !parts.isEmpty { self.parts[key.string] = Set(parts.map(\.string)) }
        allocatedBytes = try Self.allocatedBytes(directory + "/data")
        countedBytes = try store.totalSizeBytes()
        try store.close()
        problems += notes.withLock { $0 }.map { "the store had to mend: \($0)" }
    }

    private mutating func look(at resource: StoredResource, in store: SQLiteStore) throws {
        guard let expected = Programme.expectedBytes(of: resource.url) else { return problems.append("\(resource.url) was never asked") }
        guard let found = try store.lookup(resource.key) else { return problems.append("\(resource.key) is listed and not found") }
        stored[found.url] = found.spans.totalBytes
        spans[found.url] = found.spans
        let file = try store.dataFile(of: found.generation, key: found.key, fileExtension: found.fileExtension)
        let damaged = try store.damagedSpans(of: found, in: file)
        if !damaged.isEmpty { problems.append("\(damaged) of \(found.url) does not match its checks") }
        for span in found.spans.ranges {
            let bytes = try file.bytes(at: span.lowerBound, count: Int(span.count))
            let difference = bytes.withUnsafeBytes { expected.firstDifference(in: $0, at: span.lowerBound) }
            if bytes.count < Int(span.count) || difference != nil {
                problems.append("\(span) of \(found.url) is claimed, \(bytes.count) bytes are there, difference at \(difference ?? -1)")
            }
        }
    }

    private static func allocatedBytes(_ directory: String) throws -> Int64 {
        let disk = POSIXFileSystem()
        var total: Int64 = 0
        var open = [directory]
        while let next = open.popLast() {
            guard let status = try disk.status(next) else { continue }
            if status.isDirectory { open += try disk.list(next).map { "\(next)/\($0)" } } else { total += status.allocatedBytes }
        }
        return total
    }
}
