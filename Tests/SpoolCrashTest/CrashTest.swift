import Foundation
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting

/// Kills a process that plays, many times, and checks the store after each kill: every byte that
/// the index claims equals the source, no commit is lost, and the quota holds.
///
///     SpoolCrashTest --rounds 300 --seed 1
@main
enum CrashTest {
    static func main() async {
        do {
            let options = try CrashOptions(Array(CommandLine.arguments.dropFirst()))
            if let life = options.life {
                switch life.work {
                case .plays: try await Player(life).play()
                case .downloads, .downloadsToEnd: try await Downloader(life).download()
                }
            } else {
                try run(options)
            }
        } catch {
            FileHandle.standardError.write(Data("crash-test: \(error)\n".utf8))
            exit(1)
        }
    }

    /// Runs all parts. Each begins with a line, so that a log shows which part a stopped run was in.
    private static func run(_ options: CrashOptions) throws {
        Killer.say("\(options.powerLosses) power losses, seed \(options.seed)")
        try PowerLosses.run(count: options.powerLosses, seed: options.seed)
        Killer.say("\(options.worlds) simulated caches that fail in the middle")
        try PowerLosses.runWorlds(count: options.worlds, seed: options.seed)
        Killer.say("\(options.flips) flipped bytes of the index")
        try IndexFlips.run(count: options.flips, seed: options.seed)
        Killer.say("failing calls, each at \(options.faults) places")
        try FaultTable.run(places: options.faults, seed: options.seed)
        print("\(options.powerLosses) power losses, \(options.worlds) worlds, \(options.flips) flips, faults: all is right")
        Killer.say("\(options.rounds) kills of a process that plays")
        try Killer(options).run()
        Killer.say("\(options.downloads) kills of a process that downloads")
        try DownloadKiller(options).run()
    }
}

/// The options of the command line.
struct CrashOptions {
    /// One life of the process that is killed, as its parent passes it.
    struct Life {
        /// The work of the process until it is killed, or until its downloads are complete.
        enum Work: String {
            case plays, downloads, downloadsToEnd
        }

        var directory: String
        var seed: UInt64
        var quotaBytes: Int64?
        var work = Work.plays
    }

    struct Complaint: Error, CustomStringConvertible {
        let description: String
    }

    var rounds = 300
    /// The number of kills of a process that downloads.
    var downloads = 60
    /// The numbers of power losses of stores and of worlds, of flipped index bytes, and of places
    /// at which each system call fails.
    var powerLosses = 2000
    var worlds = 100
    var flips = 1500
    var faults = 12
    var seed = SystemRandom().next() >> 24
    var life: Life?

    init(_ arguments: [String]) throws {
        var values: [String: String] = [:]
        var rest = arguments[...]
        while let name = rest.popFirst() {
            guard name.hasPrefix("--"), let value = rest.popFirst() else { throw Complaint(description: "unknown argument \(name)") }
            values[name] = value
        }
        func number(_ name: String) throws -> Int64? {
            guard let text = values.removeValue(forKey: name) else { return nil }
            guard let number = Int64(text), number >= 0 else { throw Complaint(description: "\(name) \(text) is not a number") }
            return number
        }
        rounds = try number("--rounds").map(Int.init) ?? rounds
        downloads = try number("--downloads").map(Int.init) ?? downloads
        powerLosses = try number("--power-losses").map(Int.init) ?? powerLosses
        worlds = try number("--worlds").map(Int.init) ?? worlds
        flips = try number("--flips").map(Int.init) ?? flips
        faults = try number("--faults").map(Int.init) ?? faults
        seed = try number("--seed").map(UInt64.init) ?? seed
        let quota = try number("--quota")
        let work = values.removeValue(forKey: "--work").flatMap(Life.Work.init) ?? .plays
        if let directory = values.removeValue(forKey: "--child") {
            life = Life(directory: directory, seed: seed, quotaBytes: quota.flatMap { $0 == 0 ? nil : $0 }, work: work)
        }
        if let unknown = values.keys.min() { throw Complaint(description: "unknown argument \(unknown)") }
    }
}

/// The resources to play. They are the same for every process, so that each process can check the
/// bytes.
enum Programme {
    static let resources = (0..<6).map { number in
        VirtualResource(
            url: "http://origin.test/\(number).mp4", seed: UInt64(number) + 1,
            length: [90_000, 400_000, 1 << 20, 2_500_000, 65_536, 3 << 20][number])
    }

    /// The files to download.
    static let downloads = (0..<20).map { number in
        VirtualResource(
            url: "http://origin.test/download/\(number).mp4", seed: UInt64(number) + 100, length: Int64(number * number) * 4000 + 1)
    }
}
