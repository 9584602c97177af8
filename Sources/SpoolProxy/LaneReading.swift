package import SpoolCore
package import SpoolStore
package import SpoolSystem

/// One read at a time for a body source on an event loop: at once where nothing has to be waited for, else on a lane. Its memory is used again
/// from read to read.
package final class LaneReading: Sendable {
    /// What came of the last read. The event loop asks; the lane answers.
    package enum State {
        /// Nothing is wanted.
        case idle
        /// The lane has it.
        case underWay
        /// These bytes were read and not yet consumed; valid until the next call.
        case ready(UnsafeRawBufferPointer)
        /// The range could not be read; nil when there was nothing to read.
        case failed(ByteRange, StoreError?)
    }

    /// The most that one read brings: enough that the way to the lane and back costs little beside it, and little enough for the
    /// processor's cache, as the bytes are opened, perhaps changed, and sent right after.
    package static let readBytes = 256 << 10

    private struct Progress {
        var isUnderWay = false
        var failure: (ByteRange, StoreError?)?
        var count = 0
        var sent = 0
    }

    private let progress = Locked(Progress())
    private let memory: Memory

    package init() {
        memory = Memory()
    }

    /// Memory that the lane writes while a read is under way, and the event loop reads when it is not.
    private final class Memory: @unchecked Sendable {
        // Safe to share: `Progress` says whose turn it is, and the lane's end of a turn goes through its lock.
        let bytes: UnsafeMutableRawBufferPointer

        init() {
            bytes = .allocate(byteCount: LaneReading.readBytes, alignment: 64)
        }

        deinit { bytes.deallocate() }
    }

    /// Reads the start of `range` on the calling thread if it is in memory; false, and nothing has changed, when a lane is to read it.
    ///
    /// - Precondition: as for `begin`.
    package func readAtOnce(_ range: ByteRange, of file: any StoredBytes) -> Bool {
        progress.withLock { progress in
            precondition(!progress.isUnderWay && progress.sent == progress.count, "two reads at once")
        }
        let count = file.readResident(into: part(range), at: range.lowerBound)
        guard count > 0 else { return false }
        progress.withLock { $0 = Progress(count: count) }
        return true
    }

    /// Begins to read the start of `range`; calls `done` on the lane.
    ///
    /// - Precondition: no read is under way, and all bytes of the last one were consumed.
    package func begin(_ range: ByteRange, of file: any StoredBytes, on lane: any Mailbox, done: @escaping @Sendable () -> Void) {
        progress.withLock { progress in
            precondition(!progress.isUnderWay && progress.sent == progress.count, "two reads at once")
            progress = Progress(isUnderWay: true)
        }
        lane.post { [self] in
            let result = read(range, of: file)
            progress.withLock { progress in
                progress.isUnderWay = false
                switch result {
                case .success(0): progress.failure = (range, nil)
                case .success(let count): progress.count = count
                case .failure(let error): progress.failure = (range, error)
                }
            }
            done()
        }
    }

    private func read(_ range: ByteRange, of file: any StoredBytes) -> Result<Int, StoreError> {
        do throws(StoreError) {
            return .success(try file.read(into: part(range), at: range.lowerBound))
        } catch {
            return .failure(error)
        }
    }

    /// The memory for the start of `range`.
    private func part(_ range: ByteRange) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: memory.bytes.prefix(Int(range.count)))
    }

    package var state: State {
        progress.withLock { progress in
            if progress.isUnderWay { return .underWay }
            if let (range, error) = progress.failure { return .failed(range, error) }
            guard progress.sent < progress.count else { return .idle }
            return .ready(UnsafeRawBufferPointer(rebasing: memory.bytes[progress.sent..<progress.count]))
        }
    }

    /// The client took so many of the bytes.
    package func consumed(_ count: Int) {
        progress.withLock { progress in
            if progress.sent < progress.count { progress.sent += count }
        }
    }

    /// Forgets a failure.
    package func reset() {
        progress.withLock { $0 = Progress() }
    }
}
