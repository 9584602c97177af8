import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTestSupport
import SpoolTesting

/// An origin behind one link. The link sends chunks of the open transfers in turn, at one rate for
/// all of them together. A transfer that is paused goes on until its buffer in the system is full.
final class SharedLink: Transport, @unchecked Sendable {
    // Safe to share: all jobs of the simulator run on one thread.

    let windowBytes: Int64? = nil
    let simulator: Simulator
    let mailbox: any Mailbox
    private let lengths: [String: Int64]
    /// The transfers with an answer, the next one to send first.
    private var open: [LinkTransfer] = []
    private var isSending = false

    static let bytesPerSecond: Int64 = 8 << 20
    static let latency: Nanoseconds = .milliseconds(40)
    static let chunkBytes = 16 << 10
    static let bufferBytes = 64 << 10
    /// The bytes of every chunk. The simulation measures times, and no content.
    static let chunk = [UInt8](repeating: 0x5A, count: chunkBytes)

    init(_ lengths: [String: Int64], _ simulator: Simulator) {
        self.lengths = lengths
        self.simulator = simulator
        mailbox = simulator.mailbox("link")
    }

    func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        let length = lengths[request.url] ?? 0
        var range = (lower: Int64(0), upper: length)
        switch request.fields["Range"].flatMap(RangeHeader.init)?.specs.first {
        case .bounded(let first, let last)?: range = (first, min(last + 1, length))
        case .from(let first)?: range = (first, length)
        case .suffix, nil: break
        }
        let transfer = LinkTransfer(self, receiver, range: range, length: length)
        after(Self.latency) { [self] in
            transfer.begin()
            open.append(transfer)
            send()
        }
        return transfer
    }

    func close() {}

    func after(_ delay: Nanoseconds, _ job: @escaping @Sendable () -> Void) { _ = simulator.after(delay, on: mailbox, job) }

    /// Sends the next chunk, if the link is free.
    func send() {
        open.removeAll(where: \.isOver)
        guard !isSending, let index = open.firstIndex(where: \.hasRoom) else { return }
        let transfer = open.remove(at: index)
        open.append(transfer)
        isSending = true
        let count = transfer.takeChunk()
        after(Nanoseconds(Double(count) / Double(Self.bytesPerSecond) * 1e9)) { [self] in
            isSending = false
            transfer.arrived(count)
            send()
        }
    }
}

/// One request over the link.
final class LinkTransfer: Transfer, @unchecked Sendable {
    // Safe to share: all jobs of the simulator run on one thread.

    private let link: SharedLink
    private var receiver: (any TransferReceiver)?
    private let range: (lower: Int64, upper: Int64)
    private let length: Int64
    /// The bytes that the link has still to send.
    private var unsent: Int64
    /// The bytes that are on the link or in the buffer, and those of them that have arrived.
    private var underWay = 0
    private var buffered = 0
    private var isPaused = false

    init(_ link: SharedLink, _ receiver: any TransferReceiver, range: (lower: Int64, upper: Int64), length: Int64) {
        (self.link, self.receiver, self.range, self.length) = (link, receiver, range, length)
        unsent = range.upper - range.lower
    }

    var isOver: Bool { receiver == nil }
    var hasRoom: Bool { receiver != nil && unsent > 0 && underWay < SharedLink.bufferBytes }

    func takeChunk() -> Int {
        let count = Int(min(Int64(SharedLink.chunkBytes), unsent))
        unsent -= Int64(count)
        underWay += count
        return count
    }

    func begin() {
        var fields: HTTPFields = ["ETag": "\"1\"", "Content-Type": "application/x-film", "Accept-Ranges": "bytes"]
        fields["Content-Length"] = "\(range.upper - range.lower)"
        fields["Content-Range"] = "bytes \(range.lower)-\(range.upper - 1)/\(length)"
        receiver?.headReceived(ResponseHead(status: 206, fields: fields))
    }

    func arrived(_ count: Int) {
        buffered += count
        offer()
    }

    private func offer() {
        while let receiver, !isPaused, buffered > 0 {
            let count = min(buffered, SharedLink.chunkBytes)
            switch SharedLink.chunk.withUnsafeBytes({ receiver.bodyReceived(UnsafeRawBufferPointer(rebasing: $0[..<count])) }) {
            case .pause: isPaused = true
            case .enough: return finish(.cancelled)
            case .taken:
                buffered -= count
                underWay -= count
                receiver.batchEnded()
            }
        }
        if unsent == 0, underWay == 0 { finish(.complete) }
    }

    private func finish(_ end: TransferEnd) {
        let receiver = receiver
        self.receiver = nil
        receiver?.finished(end)
    }

    func resume() {
        link.mailbox.post { [self] in
            isPaused = false
            offer()
            link.send()
        }
    }

    func cancel() {
        link.mailbox.post { [self] in
            finish(.cancelled)
            link.send()
        }
    }
}
