package import SpoolCore
package import SpoolSystem

/// How a simulated player asks: everything of the real one that is only observed, claimed or guessed, as a value to vary.
///
/// The comments name the rows of the research notes' contract (see the README) that a habit stands for.
package struct PlayerHabits: Sendable {
    /// The order of taking back and asking anew at a seek (C2–C4).
    package enum CancelOrder: CaseIterable, Sendable {
        case cancelFirst, newFirst, never
    }

    /// What happens when an answer failed as often as the player tries.
    package enum AfterRetries: CaseIterable, Sendable {
        /// The item fails.
        case fails
        /// The player waits until the app plays or seeks again.
        case waits
    }

    /// Requests that resume begin at multiples of this (L5).
    package var pageBytes: Int64 = 65_536
    /// The request is taken back when so much is read ahead (L7).
    package var highWaterBytes: Int64 = 2 << 20
    /// A new one begins when no more than this is left.
    package var lowWaterBytes: Int64 = 512 << 10
    /// The request is never taken back for being far ahead (T1b).
    package var isGreedy = false
    package var cancelOrder = CancelOrder.cancelFirst
    /// How many more times than once the content information is asked at the start (D11).
    package var duplicateInformation = 0
    /// Bounded probes of a page each before the first request to the end: iOS 12 and before (L3).
    package var legacyProbes = 0
    /// Reads of eight bytes at box headers (L9, T3).
    package var boxReads = 0
    /// The first request to the end is taken back and asked again almost at once (L6, T1c).
    package var startsTwice = false
    /// The request at the front goes on while the index at the end is read (T4).
    package var readsTailInParallel = false
    /// The index at the end is asked by its length, else to the end of the resource.
    package var asksTailByLength = false
    /// Requests to the end have the largest length there is, as if the resource's were not known (L10).
    package var asksUnknownLength = false
    /// Near the end the same request is made a second time (C5, T9).
    package var repeatsTail = false
    /// How often a failed request is made again (C10).
    package var retries = 2
    package var afterRetries = AfterRetries.fails
    /// Between a failure and the next try.
    package var retryDelay: Nanoseconds = .seconds(1)
    /// What was read is still known after a seek away from it.
    package var keepsPlayed = true
    /// What the next item of a queue reads before it is played (T6); 0 nothing.
    package var prebufferBytes: Int64 = 256 << 10
    /// How much one read asks when every byte is at hand (R9).
    package var onDemandBytes: Int64 = 65_536
    /// A redirect of the content information is followed (H1).
    package var followsRedirects = true
    /// Media of servers without ranges is not played (I1).
    package var demandsRanges = false
    /// Errors are hidden in a general one (C13).
    package var hidesErrors = true
    /// The types that may be answered; nil allows all (C18).
    package var allowedContentTypes: [String]?
    /// The delegate is asked for HTTP URLs, too (D3).
    package var asksForHTTP = false
    /// An answer has to come, and to go on, within this (C12).
    package var patience: Nanoseconds = .seconds(120)
    /// How often the time of media moves.
    package var tick: Nanoseconds = .milliseconds(500)

    package init() {}

    /// Habits of any kind, in proportion to media of `length` bytes.
    package static func random(length: Int64, using random: any RandomSource) -> PlayerHabits {
        var habits = PlayerHabits()
        let third = max(2, length / 3)
        habits.highWaterBytes = random.number(in: min(third, 65_536)...max(third, 65_536))
        habits.lowWaterBytes = random.number(in: 1...max(1, habits.highWaterBytes / 2))
        habits.isGreedy = random.chance(1, in: 8)
        habits.cancelOrder = random.pick(CancelOrder.allCases)
        habits.duplicateInformation = random.pick([0, 0, 0, 1, 2])
        habits.legacyProbes = random.pick([0, 0, 0, 3])
        habits.boxReads = random.pick([0, 0, 0, 4])
        habits.startsTwice = random.chance(1, in: 4)
        habits.readsTailInParallel = random.chance(1, in: 2)
        habits.asksTailByLength = random.chance(1, in: 2)
        habits.asksUnknownLength = random.chance(1, in: 8)
        habits.repeatsTail = random.chance(1, in: 4)
        habits.retries = random.pick([0, 1, 3])
        habits.afterRetries = random.pick(AfterRetries.allCases)
        habits.keepsPlayed = random.chance(1, in: 2)
        habits.prebufferBytes = random.pick([0, 65_536, 256 << 10])
        habits.onDemandBytes = random.pick([16_384, 65_536])
        habits.followsRedirects = random.chance(3, in: 4)
        habits.demandsRanges = random.chance(1, in: 4)
        habits.hidesErrors = random.chance(1, in: 2)
        habits.tick = .milliseconds(random.pick([250, 500, 1000]))
        return habits
    }
}
