import Foundation
package import SpoolCore
import SpoolSystem

/// Repeats a recorded player's requests to an asset's loader in the same order, and checks the
/// answers.
///
/// A request is cancelled as soon as it has as many bytes as in the trace. A line with an end
/// delays the following lines until that end has come. Requests begin no earlier than in the trace.
package final class TraceReplayer: @unchecked Sendable {
    // Sendable for its jobs, all of which run on its mailbox.
    private struct Ask {
        let transaction: LoadingTransaction
        var receivedBytes: Int64 = 0
        var isOver = false
    }

    /// The longest time that a line may delay the others (C12).
    private static let patience = Nanoseconds.seconds(120)

    private let asset: AVURLAsset
    private let trace: LoadingTrace
    private let world: PlaybackWorld
    private let mailbox: any Mailbox
    private let firstDifference: @Sendable (UnsafeRawBufferPointer, Int64) -> Int?
    private let start: MonotonicInstant
    /// The number of bytes after which each request is cancelled.
    private let limits: [Int: Int64]
    private var next = 0
    private var asks: [Int: Ask] = [:]
    private var knownLength: Int64?
    private var timer: SpoolSystem.Timer?

    /// Whether every line was replayed.
    package var isOver: Bool { next == trace.entries.count }
    /// Every byte that was delivered.
    package private(set) var delivered = ByteRangeSet()
    /// The number of cancelled requests.
    package private(set) var cancelCount = 0
    /// The errors of requests, in order.
    package private(set) var errors: [NSError] = []

    /// Begins at once.
    ///
    /// - Parameter firstDifference: Returns the index in the buffer of the first byte that differs
    ///   from the file.
    package init(
        _ trace: LoadingTrace, on asset: AVURLAsset, world: PlaybackWorld,
        firstDifference: @escaping @Sendable (UnsafeRawBufferPointer, Int64) -> Int?
    ) {
        self.asset = asset
        self.trace = trace
        self.world = world
        self.firstDifference = firstDifference
        mailbox = world.mailbox("replayer")
        start = world.time.now
        limits = Dictionary(
            trace.entries.compactMap { entry in
                switch entry.event {
                case .cancelled(let bytes), .failed(let bytes, _, _): (entry.request, bytes)
                case .asked, .finished: nil
                }
            }, uniquingKeysWith: { first, _ in first })
        mailbox.post { [weak self] in self?.look() }
    }

    /// Replays lines until one has to wait.
    private func look() {
        while !isOver {
            let entry = trace.entries[next]
            if case .asked(let information, let isRenewal, let data) = entry.event {
                let early = .milliseconds(entry.milliseconds) - (world.time.now - start)
                if early > 0 { return wait(early) { $0.look() } }
                begin(entry.request, information, isRenewal, data)
            } else if asks[entry.request]?.isOver == false {
                return wait(Self.patience) { $0.giveUp() }
            }
            next += 1
        }
        timer?.cancel()
    }

    private func wait(_ delay: Nanoseconds, _ body: @escaping @Sendable (TraceReplayer) -> Void) {
        timer?.cancel()
        timer = world.time.after(delay, on: mailbox) { [weak self] in self.map(body) }
    }

    private func giveUp() {
        guard !isOver else { return }
        world.journal.note(.c12, "line \(next + 1) of the trace, \(trace.entries[next]), had to wait for two minutes")
        next = trace.entries.count
    }

    private func begin(_ number: Int, _ information: Bool, _ isRenewal: Bool, _ data: LoadingAsk.Data?) {
        var ask = LoadingAsk(url: asset.url, wantsInformation: information, data: data)
        ask.isRenewal = isRenewal
        ask.knownLength = knownLength
        let transaction = asset.resourceLoader.begin(ask, for: asset, world: world, on: mailbox) { [weak self] event in
            self?.receive(event, number)
        }
        asks[number] = Ask(transaction: transaction)
        cancelIfEnough(number)
    }

    private func cancelIfEnough(_ number: Int) {
        guard let ask = asks[number], !ask.isOver, let limit = limits[number], ask.receivedBytes >= limit else { return }
        asks[number]?.isOver = true
        cancelCount += 1
        asset.resourceLoader.cancel(ask.transaction)
    }

    private func receive(_ event: LoadingEvent, _ number: Int) {
        switch event {
        case .data(let data, let offset):
            if let difference = data.withUnsafeBytes({ firstDifference($0, offset) }) {
                world.journal.note(.r2, "byte \(offset + Int64(difference)) of request \(number) is wrong")
            }
            delivered.insert(ByteRange(lower: offset, upper: offset + Int64(data.count)))
            asks[number]?.receivedBytes += Int64(data.count)
            cancelIfEnough(number)
        case .finished(let information):
            asks[number]?.isOver = true
            if let information { knownLength = information.contentLength }
        case .failed(let error):
            asks[number]?.isOver = true
            errors.append(error)
        case .refused, .unanswered, .redirected, .cancelled: asks[number]?.isOver = true
        case .accepted: return
        }
        look()
    }
}
