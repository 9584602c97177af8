import Foundation
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting

/// Kills a process that runs downloads, many times.
///
/// After each kill the list has each entry that was added, in the state that was set, and every
/// stored byte is right. Bytes are fetched twice only if a kill took them: those of the downloads
/// that ran, which were not in the index yet. Each stored part of a presentation is entered as its
/// part, so that eviction spares it.
struct DownloadKiller {
    /// The longest time from the start of the downloads to the kill, in microseconds.
    private static let lifeMicroseconds: UInt64 = 300_000
    /// The number of kills of one list, before it is fetched to its end.
    private static let killsPerStore = 20

    let options: CrashOptions

    init(_ options: CrashOptions) { self.options = options }

    func run() throws {
        guard options.downloads > 0 else { return }
        let random = SeededRandom(seed: options.seed)
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("spool-crash-" + UUID().uuidString).path
        defer { do { try FileManager.default.removeItem(atPath: root) } catch { Killer.say("\(root) stays: \(error)") } }
        var (round, fetched, lost) = (0, Int64(0), Int64(0))
        while round < options.downloads {
            var ledger = DownloadLedger()
            let directory = root + "/\(round)"
            let kills = min(Self.killsPerStore, options.downloads - round)
            for kill in 0...kills {
                // The last life ends by itself, with all downloads complete.
                let isLast = kill == kills
                let life = CrashOptions.Life(
                    directory: directory, seed: random.next() >> 24, quotaBytes: nil, work: isLast ? .downloadsToEnd : .downloads)
                let lines = try Killer.live(life, lifeMicroseconds: isLast ? nil : Self.lifeMicroseconds, random)
                ledger.read(lines)
                let remainder = try Remainder(directory, isTakenOver: random.next(below: 2) == 0, options: options)
                let problems = remainder.problems + ledger.check(remainder, isLast: isLast)
                guard problems.isEmpty else {
                    throw CrashOptions.Complaint(
                        description: "downloads, kill \(round + 1) of seed \(options.seed): \(problems.prefix(5).joined(separator: "; "))")
                }
                lost += ledger.settle(remainder)
                if !isLast { round += 1 }
            }
            fetched += ledger.fetchedBytes
            try FileManager.default.removeItem(atPath: directory)
        }
        print(
            "\(options.downloads) kills of downloads, seed \(options.seed): every list and byte is right;"
                + " \(fetched >> 10) KiB fetched, \(lost >> 10) KiB of them taken by kills")
    }
}

/// The reports of the processes that downloaded, and the store that the last one found.
private struct DownloadLedger {
    private var problems: [String] = []
    private var added: Set<String> = []
    /// Whether a download is paused, or nil while a change is under way.
    private var paused: [String: Bool?] = [:]
    /// The downloads that this life may have stopped. Their last bytes are not in the index at once.
    private var stopped: Set<String> = []
    /// The stored bytes when the life began, and the bytes that it fetched.
    private var stored: [String: ByteRangeSet] = [:]
    private var fetched: [String: ByteRangeSet] = [:]
    private(set) var fetchedBytes: Int64 = 0

    mutating func read(_ lines: [String]) {
        for line in lines {
            let words = line.split(separator: " ").map(String.init)
            guard words.count >= 2 else { continue }
            switch words[0] {
            case "a": added.insert(words[1])
            case "x":
                paused[words[1]] = .some(nil)
                stopped.insert(words[1])
            case "p": paused[words[1]] = true
            case "u": paused[words[1]] = false
            case "b": noteFetched(words)
            case "w": problems.append(line)
            default: break
            }
        }
    }

    private mutating func noteFetched(_ words: [String]) {
        guard words.count == 4, let lower = Int64(words[2]), let upper = Int64(words[3]) else { return }
        guard let range = ByteRange(lower, upper) else { return }
        let known = stored[words[1], default: ByteRangeSet()].union(fetched[words[1], default: ByteRangeSet()])
        if known.gaps(in: range).reduce(0, { $0 + $1.count }) < range.count {
            problems.append("\(range) of \(words[1]) was fetched again; \(known.ranges) were there")
        }
        fetched[words[1], default: ByteRangeSet()].insert(range)
        fetchedBytes += range.count
    }

    func check(_ remainder: Remainder, isLast: Bool) -> [String] {
        var problems = problems
        let entries = Dictionary(remainder.downloads.map { ($0.members["url"] ?? "", $0.members) }) { first, _ in first }
        for url in added.sorted() where entries[url] == nil { problems.append("\(url) was added and is not in the list") }
        for (url, members) in entries.sorted(by: { $0.key < $1.key }) {
            problems += Self.check(url, members, remainder, isPaused: paused[url] ?? nil, isLast: isLast)
        }
        if isLast, entries.count != Programme.listed.count { problems.append("\(entries.count) entries are left at the end") }
        let lost = fetched.filter { url, ranges in !ranges.subtracting(remainder.spans[url] ?? ByteRangeSet()).isEmpty }
        let losers = Set(lost.keys.map { Programme.owners[$0] ?? $0 })
        let bound = isLast ? 0 : Downloader.running
        let count = losers.count { isLast || !stopped.contains($0) }
        if count > bound { problems.append("the kill took bytes of \(count) downloads, and \(bound) ran") }
        return problems
    }

    private static func check(
        _ url: String, _ members: [String: String], _ remainder: Remainder, isPaused: Bool?, isLast: Bool
    ) -> [String] {
        guard let number = Programme.listed.firstIndex(of: url), let lengths = Programme.lengths[url] else {
            return ["\(url) was never added"]
        }
        var problems: [String] = []
        let state = members["state"] ?? ""
        if members["group"] != Downloader.group(number) || members["priority"].map({ Int($0) }) != Downloader.priority(number) {
            problems.append("\(url) has the group and priority of another: \(members)")
        }
        if let isPaused, isPaused != (state == "paused"), state != "complete" {
            problems.append("\(url) is \(state), paused: \(isPaused)")
        }
        let missing = lengths.filter { remainder.stored[$0.key] != $0.value }
        if state == "complete", !missing.isEmpty {
            problems.append("\(url) is complete without all bytes of \(missing.keys.sorted().prefix(3))")
        }
        if state == "failed" || (isLast && state != "complete") { problems.append("\(url) is \(state): \(members["reason"] ?? "")") }
        return problems + checkParts(of: url, Set(lengths.keys).subtracting([url]), remainder, isComplete: state == "complete")
    }

    /// The parts of an entry in the store: each one that has bytes, and all of them in the end.
    private static func checkParts(of url: String, _ expected: Set<String>, _ remainder: Remainder, isComplete: Bool) -> [String] {
        let parts = remainder.parts[url] ?? []
        let strange = parts.subtracting(expected).sorted()
        let lost = expected.filter { remainder.stored[$0] != nil || isComplete }.subtracting(parts).sorted()
        return strange.map { "\($0) is no part of \(url)" } + lost.map { "\($0) is stored and not entered as a part of \(url)" }
    }

    /// Takes the store as the beginning of the next life.
    ///
    /// - Returns: The bytes that the kill took.
    mutating func settle(_ remainder: Remainder) -> Int64 {
        let lost = fetched.reduce(Int64(0)) { sum, one in
            sum + one.value.subtracting(remainder.spans[one.key] ?? ByteRangeSet()).totalBytes
        }
        (stored, fetched, stopped) = (remainder.spans, [:], [])
        return lost
    }
}
