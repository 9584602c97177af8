package import SpoolCore
package import SpoolSystem

/// The request patterns of a simulated player: every property of the real one that is only
/// observed, reported or inferred, as a value to vary.
///
/// The numbers in the comments are the rows of the contract and the habits in the README.
package struct PlayerHabits: Sendable {
    /// The order of the cancel and the new request at a seek (C2–C4).
    package enum CancelOrder: CaseIterable, Sendable {
        case cancelFirst, newFirst, never
    }

    /// The outcome of an answer that failed after all retries.
    package enum AfterRetries: CaseIterable, Sendable {
        /// The item fails.
        case fails
        /// The player waits until the app plays or seeks again.
        case waits
    }

    /// Resumed requests begin at multiples of this (L5).
    package var pageBytes: Int64 = 65_536
    /// The player cancels its request when this many bytes are read ahead (L7).
    package var highWaterBytes: Int64 = 2 << 20
    /// The player makes a new request when no more than this many bytes are left.
    package var lowWaterBytes: Int64 = 512 << 10
    /// Whether a request is never cancelled for being far ahead (T1b).
    package var isGreedy = false
    /// The order of the cancel and the new request at a seek.
    package var cancelOrder = CancelOrder.cancelFirst
    /// The number of additional requests for content information at the start (D11).
    package var duplicateInformation = 0
    /// The number of bounded probes of a page each before the first request to the end, on iOS 12
    /// and before (L3).
    package var legacyProbes = 0
    /// The number of reads of eight bytes at box headers (L9, T3).
    package var boxReads = 0
    /// Whether the first request to the end is cancelled and repeated almost at once (L6, T1c).
    package var startsTwice = false
    /// Whether the request at the front goes on while the index at the end is read (T4).
    package var readsTailInParallel = false
    /// Whether the index at the end is requested by its length, and not to the end of the resource.
    package var asksTailByLength = false
    /// Whether requests to the end have the largest possible length, as if the resource's length
    /// were unknown (L10).
    package var asksUnknownLength = false
    /// Whether a request near the end is made twice (C5, T9).
    package var repeatsTail = false
    /// The number of retries of a failed request (C10).
    package var retries = 2
    /// The outcome after all retries failed.
    package var afterRetries = AfterRetries.fails
    /// The time between a failure and the next retry.
    package var retryDelay: Nanoseconds = .seconds(1)
    /// Whether the player keeps read bytes after a seek away from them.
    package var keepsPlayed = true
    /// The number of bytes that the next item of a queue reads before it plays (T6). 0 for none.
    package var prebufferBytes: Int64 = 256 << 10
    /// The number of bytes of one read when every byte is available (R9).
    package var onDemandBytes: Int64 = 65_536
    /// Whether a redirect of the content information is followed (H1).
    package var followsRedirects = true
    /// The time until an item is ready that the system loads by itself after a redirect.
    package var directOpening: Nanoseconds = 0
    /// Whether a stall is notified. A seek out of the buffer may stop the player without a
    /// notification.
    package var notifiesStalls = true
    /// Whether a player that waits after a stall resumes by itself. AVFoundation's header reports
    /// poor recovery when a delegate loads the media.
    package var resumesByItself = true
    /// Whether media of servers without ranges fails to play (I1).
    package var demandsRanges = false
    /// Whether errors are hidden behind a general one (C13).
    package var hidesErrors = true
    /// The allowed content types. Nil allows all (C18).
    package var allowedContentTypes: [String]?
    /// Whether the delegate is asked for HTTP URLs, too (D3).
    package var asksForHTTP = false
    /// The longest time until an answer begins, and between its parts (C12).
    package var patience: Nanoseconds = .seconds(120)
    /// The interval at which the media's time advances.
    package var tick: Nanoseconds = .milliseconds(500)

    /// Makes the habits of the usual player.
    package init() {}

    /// Returns random habits, in proportion to media of `length` bytes.
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
