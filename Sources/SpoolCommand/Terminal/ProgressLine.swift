import SpoolCore
import SpoolJSON
import SpoolSystem

/// The line that a terminal shows during a transfer: amount, rate, remaining time, and the share
/// that came from the store. For programs it is a JSON object on a line of its own (docs/json.md).
struct ProgressLine {
    private let stream: OutputStream
    private let name: String
    private let time: any TimeSource
    private let began: MonotonicInstant
    private var rate: TransferRate
    private var shown: MonotonicInstant?
    /// The number of bytes to come, or nil while it is unknown.
    var total: Int64?
    /// The URL in the lines for programs, or nil for the line of a terminal.
    var jsonURL: String?
    /// Whether the line shows the share that was stored.
    private let showsStore: Bool
    private(set) var received: Int64 = 0
    /// The received bytes that were stored before.
    private(set) var fromStore: Int64 = 0

    /// The interval of drawing: ten times a second, as fast as an eye reads.
    private static let interval: Nanoseconds = .milliseconds(100)
    /// The interval of lines for programs.
    private static let jsonInterval: Nanoseconds = .seconds(1)

    init(name: String, stream: OutputStream, time: any TimeSource, showsStore: Bool = true) {
        self.showsStore = showsStore
        self.name = name
        self.stream = stream
        self.time = time
        began = time.now
        rate = TransferRate(now: began)
    }

    private var isShown: Bool { jsonURL != nil || stream.isTerminal }

    /// Adds received bytes, and draws the line when it is due and the stream is a terminal.
    mutating func add(_ bytes: Int64, fromStore stored: Int64) {
        received = received.addingSaturated(bytes)
        fromStore = fromStore.addingSaturated(stored)
        guard isShown else { return }
        let now = time.now
        rate.update(received, now: now)
        if let shown, now - shown < (jsonURL == nil ? Self.interval : Self.jsonInterval) { return }
        shown = now
        draw(line(bytesPerSecond: rate.bytesPerSecond))
    }

    /// Sets the number of received bytes, and returns the line of this moment.
    mutating func text(_ bytes: Int64, of total: Int64?) -> String {
        (received, self.total) = (bytes, total)
        rate.update(received, now: time.now)
        return line(bytesPerSecond: rate.bytesPerSecond)
    }

    /// Draws a last line with the result.
    ///
    /// - Returns: The result as a text where nothing was drawn, for a log or the mail of a timer.
    func finish() -> String? {
        let elapsed = time.now - began
        guard isShown else {
            let seconds = Double(elapsed / .milliseconds(100)) / 10
            return "received \(ByteCount.text(received)) of \(name) in \(seconds) s" + (storeShare.map { ", \($0)" } ?? "")
        }
        draw(line(bytesPerSecond: TransferRate.average(received, over: elapsed), isOver: true))
        if jsonURL == nil { stream.say("") }
        return nil
    }

    /// Clears the line, so that a message can take its place.
    func clear() {
        if jsonURL == nil, stream.isTerminal, shown != nil { draw("") }
    }

    /// Draws the line over the one before.
    private func draw(_ line: String) {
        guard jsonURL == nil else { return stream.say(line) }
        do throws(SystemError) { try stream.write(Array("\r\(line.printable)\u{1B}[K".utf8)) } catch { return }
    }

    private func line(bytesPerSecond: Int64, isOver: Bool = false) -> String {
        if let jsonURL {
            return JSON.object([
                ("url", .string(jsonURL)), ("receivedBytes", .integer(received)), ("fromStoreBytes", .integer(fromStore)),
                ("totalBytes", JSON(total)), ("bytesPerSecond", .integer(bytesPerSecond)), ("done", .bool(isOver)),
            ]).text
        }
        let columns = stream.columns - 1
        var facts = [progress]
        // The first frame comes before there is a rate.
        if bytesPerSecond > 0 { facts.append(ByteCount.text(bytesPerSecond) + "/s") }
        if let left = secondsLeft(bytesPerSecond) { facts.append(Self.clock(left) + " left") }
        facts += storeShare.map { [$0] } ?? []
        let text = facts.joined(separator: "  ")
        let room = columns - text.count - 2
        guard let total, total > 0, room > 30 else { return String("\(name)  \(text)".suffix(columns)) }
        let label = String(name.prefix(room / 2))
        return "\(label) \(bar(received, of: total, width: room - label.count))  \(text)"
    }

    private var storeShare: String? {
        showsStore && received > 0 ? "\(ByteCount.percent(fromStore, of: received)) % from the store" : nil
    }

    private var progress: String {
        guard let total else { return ByteCount.text(received) }
        return "\(ByteCount.percent(received, of: total)) % of \(ByteCount.text(total))"
    }

    private func bar(_ part: Int64, of whole: Int64, width: Int) -> String {
        let filled = ByteRange(0, part).map { ByteRangeSet([$0]) } ?? ByteRangeSet()
        return SpanBar(stored: filled, length: whole).text(width: width)
    }

    private func secondsLeft(_ bytesPerSecond: Int64) -> Int64? {
        guard let total, received < total, bytesPerSecond > 0 else { return nil }
        return total.subtractingSaturated(received) / bytesPerSecond
    }

    private static func clock(_ seconds: Int64) -> String {
        let (minutes, rest) = (seconds / 60, seconds % 60)
        return "\(minutes):\(rest < 10 ? "0" : "")\(rest)"
    }
}

/// The rate of a transfer, smoothed over about two seconds.
struct TransferRate {
    private(set) var bytesPerSecond: Int64 = 0
    private var bytes: Int64 = 0
    private var last: MonotonicInstant

    /// The shortest time between two samples. Shorter ones are noise.
    private static let window: Nanoseconds = .milliseconds(250)

    init(now: MonotonicInstant) {
        last = now
    }

    mutating func update(_ total: Int64, now: MonotonicInstant) {
        let elapsed = now - last
        guard elapsed >= Self.window else { return }
        let current = Self.average(total.subtractingSaturated(bytes), over: elapsed)
        bytesPerSecond = bytesPerSecond == 0 ? current : bytesPerSecond / 8 * 7 + current / 8
        bytes = total
        last = now
    }

    static func average(_ bytes: Int64, over elapsed: Nanoseconds) -> Int64 {
        Int64(saturating: Double(bytes) * 1e9 / Double(max(1, elapsed)))
    }
}
