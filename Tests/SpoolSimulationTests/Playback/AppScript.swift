#if os(Linux)
import AVFoundation
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting

/// An event of an app's life: an act of the user, or of the system.
enum AppEvent: Sendable {
    /// The user plays at a rate.
    case play(rate: Float)
    /// The user pauses.
    case pause
    /// The user pauses in the moment in which the player stops by itself.
    case pauseAtNextStop
    /// The user seeks to each of these seconds, with as many milliseconds in between.
    case seek(to: [Double], milliseconds: Int64)
    /// The user goes to the next item.
    case advance
    /// The app appends an item.
    case append(Int)
    /// The app replaces the current item.
    case replace(Int)
    /// A call takes the audio for some milliseconds.
    case call(milliseconds: Int64, shouldResume: Bool, pausesFirst: Bool)
    /// A call begins in the moment in which the player stops by itself.
    case callAtNextStop
    /// The headphones are pulled out.
    case headphonesOut(pausesFirst: Bool)
    /// A receiver of AirPlay plays for some milliseconds.
    case receiver(milliseconds: Int64)
    /// The user leaves the app for some milliseconds of running time.
    case background(milliseconds: Int64)
    /// The app bypasses its cache for some milliseconds.
    case bypass(milliseconds: Int64)
    /// The current item fails, although its origin answers.
    case fault
    /// The network is gone for some milliseconds.
    case offline(milliseconds: Int64, breaksTransfers: Bool)
}

/// The script of one life: what it plays, how, and what happens.
struct AppScript: Sendable {
    /// The most processes of one life. All but the last one are killed.
    static let processes: ClosedRange<Int64> = 1...3
    /// The events of one process.
    static let events: ClosedRange<Int64> = 4...14
    /// The milliseconds in which they happen.
    static let milliseconds: ClosedRange<Int64> = 0...60_000

    /// The sizes of the origin's chunks.
    static let chunkBytes = 1000...40_000

    /// A resource of the life.
    struct Resource: Sendable {
        var name: String
        var content: UInt64
        var length: Int64
        var seconds: Double
        var kind: SimulatedMedia.Kind
    }

    /// An event, and when it happens: the time that the process ran.
    struct TimedEvent: Sendable {
        var milliseconds: Int64
        var event: AppEvent
    }

    /// The first queue of a process, and its events in their order.
    struct Process: Sendable {
        var queue: [Int]
        var events: [TimedEvent]
    }

    var resources: [Resource]
    var habits: PlayerHabits
    var processes: [Process]
    /// Whether the app may play in the background. Otherwise the system pauses it there.
    var playsInBackground: Bool
    /// The seconds for which a URL is valid, or nil for always.
    var validSeconds: Int64?
    /// Whether assets have the date at which their URL expires.
    var namesExpiry: Bool
    var windowBytes: Int64?
    var latencyMilliseconds: Int64
    var bytesPerSecond: Int64

    /// Draws the script of a seed.
    init(seed: UInt64) {
        let random = SeededRandom(seed: seed)
        resources = (1...random.number(in: 1...3)).map { number in
            let length = random.number(in: 50_000...1_200_000)
            return Resource(
                name: "song-\(number).mp3", content: random.next() >> 32, length: length, seconds: Double(random.number(in: 8...60)),
                kind: random.pick(SimulatedMedia.Kind.allCases))
        }
        habits = PlayerHabits.random(length: 1_000_000, using: random)
        habits.resumesByItself = random.chance(3, in: 4)
        // These worlds have ranges, and a redirect would leave the cache.
        habits.demandsRanges = false
        playsInBackground = random.chance(1, in: 2)
        validSeconds = random.chance(1, in: 3) ? random.number(in: 10...60) : nil
        namesExpiry = random.chance(1, in: 2)
        windowBytes = random.chance(1, in: 4) ? 200_000 : nil
        latencyMilliseconds = random.number(in: 0...400)
        bytesPerSecond = random.pick([20_000, 60_000, 200_000, 1_000_000])
        let count = resources.count
        processes = (0..<random.number(in: Self.processes)).map { _ in
            Process(
                queue: (0..<random.number(in: 1...3)).map { _ in Int(random.next(below: UInt64(count))) },
                events: (0..<random.number(in: Self.events)).map { _ in
                    TimedEvent(milliseconds: random.number(in: Self.milliseconds), event: AppEvent(random, resources: count))
                }.sorted { $0.milliseconds < $1.milliseconds })
        }
        addFaults(SeededRandom(seed: seed ^ 0xB1A5))
        addRow(SeededRandom(seed: seed ^ 0xB2A5))
    }

    /// Adds faults of several resources in a row, after which the cache bypasses itself.
    private mutating func addRow(_ random: SeededRandom) {
        guard resources.count > 1, random.chance(1, in: 4) else { return }
        let process = Int(random.next(below: UInt64(processes.count)))
        let start = random.number(in: 0...30_000)
        for number in 0..<3 {
            let time = start + Int64(number) * 8000
            processes[process].events.append(TimedEvent(milliseconds: time, event: .replace(number % resources.count)))
            processes[process].events.append(TimedEvent(milliseconds: time + 4000, event: .fault))
        }
        processes[process].events.sort { $0.milliseconds < $1.milliseconds }
    }

    /// Adds the events that lead to originals. They have random numbers of their own, so that the
    /// other events of a seed stay the same.
    private mutating func addFaults(_ random: SeededRandom) {
        for index in processes.indices where random.chance(1, in: 3) {
            for _ in 0..<random.number(in: 1...3) {
                let event = random.chance(1, in: 3) ? AppEvent.bypass(milliseconds: random.number(in: 100...20_000)) : .fault
                processes[index].events.append(TimedEvent(milliseconds: random.number(in: Self.milliseconds), event: event))
            }
            processes[index].events.sort { $0.milliseconds < $1.milliseconds }
        }
    }
}

extension AppEvent {
    fileprivate init(_ random: SeededRandom, resources: Int) {
        let time = random.number(in: random.pick([100...3000, 1000...30_000]))
        let (first, second) = (random.chance(1, in: 2), random.chance(1, in: 2))
        let resource = Int(random.next(below: UInt64(resources)))
        let target = Double(random.number(in: 0...60_000)) / 1000
        self =
            switch random.next(below: 19) {
            case 0, 1, 2: .play(rate: random.pick([1, 1, 1.5, 2]))
            case 3: .pause
            case 4: .pauseAtNextStop
            case 5, 6: .seek(to: [target], milliseconds: 0)
            case 7: .seek(to: (0...random.number(in: 3...12)).map { _ in Double(random.number(in: 0...60)) }, milliseconds: time / 30)
            case 8: .advance
            case 9: .append(resource)
            case 10: .replace(resource)
            case 11, 12: .call(milliseconds: time, shouldResume: first, pausesFirst: second)
            case 13: .callAtNextStop
            case 14: .headphonesOut(pausesFirst: first)
            case 15: .receiver(milliseconds: time)
            case 16, 17: .background(milliseconds: time * 2)
            default: .offline(milliseconds: time, breaksTransfers: first)
            }
    }
}
#endif
