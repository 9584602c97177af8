internal import SpoolCore
package import SpoolSystem

/// A transport that answers requests from files which the system downloaded, and passes all others
/// on.
///
/// The engine treats such an answer as one of the origin: it compares range, length and validator
/// with what it has, and stores the bytes with checks of its own. So a file never gets into the
/// store in another way than a response.
package final class ReceivedFilesTransport: TransportLayer {
    /// The most files that wait for their reader.
    package static let maxFiles = 256

    /// The transport that sends the requests.
    package let base: any Transport
    private let mailbox: any Mailbox
    private let files = Locked<[String: ReceivedFile]>([:])

    /// Creates a transport around another one. Files are read on `mailbox`, which may block.
    package init(_ base: any Transport, on mailbox: any Mailbox) {
        self.base = base
        self.mailbox = mailbox
    }

    /// Answers requests for the URL of the file from now on.
    ///
    /// - Returns: False if too many files wait.
    package func offer(_ file: ReceivedFile) -> Bool {
        files.withLock { files in
            guard files.count < Self.maxFiles || files[file.url] != nil else { return false }
            files[file.url] = file
            return true
        }
    }

    /// Lets the origin answer requests for this URL again.
    package func withdraw(_ url: String) { files.withLock { $0[url] = nil } }

    /// Answers the request from a file that has its bytes, or sends it.
    package func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        let file = files.withLock { $0.isEmpty ? nil : $0[request.url] }
        guard let file, let answer = file.answer(to: request) else { return base.start(request, receiver: receiver) }
        let transfer = FileTransfer(file, answer.range, receiver: receiver, on: mailbox)
        mailbox.post { transfer.begin(answer.head) }
        return transfer
    }
}

/// One answer from a file.
private final class FileTransfer: Transfer, @unchecked Sendable {
    // Safe to share: only jobs of the mailbox use the variables, one at a time.
    private let file: ReceivedFile
    private let range: ByteRange
    private let mailbox: any Mailbox
    private var receiver: (any TransferReceiver)?
    private var position: Int64
    private var isPaused = false
    private let cancelRequested = Locked(false)

    /// The most bytes of one call (the contract of `TransferReceiver`).
    private static let chunkBytes: Int64 = 65_536

    init(_ file: ReceivedFile, _ range: ByteRange, receiver: any TransferReceiver, on mailbox: any Mailbox) {
        self.file = file
        self.range = range
        self.receiver = receiver
        self.mailbox = mailbox
        position = range.lowerBound
    }

    func resume() {
        mailbox.post { [self] in
            guard isPaused else { return }
            isPaused = false
            offerNext()
        }
    }

    func cancel() {
        cancelRequested.withLock { $0 = true }
        mailbox.post { [self] in finish(.cancelled) }
    }

    func begin(_ head: ResponseHead) {
        guard !isCancelled else { return finish(.cancelled) }
        receiver?.headReceived(head)
        offerNext()
    }

    private var isCancelled: Bool { cancelRequested.withLock { $0 } }

    /// Reads and offers one chunk. The next one is another job, so that transfers take turns.
    private func offerNext() {
        guard let receiver, !isPaused else { return }
        guard !isCancelled else { return finish(.cancelled) }
        let count = Int(min(Self.chunkBytes, range.upperBound - position))
        guard count > 0 else { return finish(.complete) }
        let answer = withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) { buffer -> BodyAnswer? in
            guard file.read(buffer, position - file.range.lowerBound) == count else { return nil }
            return receiver.bodyReceived(UnsafeRawBufferPointer(buffer))
        }
        switch answer {
        case nil: finish(.failed(.truncated(afterBytes: position - range.lowerBound)))
        case .pause: isPaused = true
        case .enough: finish(.cancelled)
        case .taken:
            position += Int64(count)
            receiver.batchEnded()
            mailbox.post { [self] in offerNext() }
        }
    }

    private func finish(_ end: TransferEnd) {
        guard let receiver else { return }
        self.receiver = nil
        receiver.finished(isCancelled ? .cancelled : end)
    }
}
