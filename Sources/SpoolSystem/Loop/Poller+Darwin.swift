#if canImport(Darwin)
import SpoolCore
import SpoolLibc

/// Readiness of descriptors by kqueue, level-triggered.
///
/// All methods except `wake` belong to one thread. kqueue has no separate interest in "peer
/// closed": `EV_EOF` comes with the read filter. For an interest in `.peerClosed` alone, the read
/// filter is edge-triggered, so that it reports unread bytes at most once. Reports without `EV_EOF`
/// are then dropped.
final class Poller: @unchecked Sendable {
    // Safe to share: other threads only call `wake`, which reads one constant.
    private let descriptor: Int32
    private let events: UnsafeMutablePointer<kevent>
    private static let wakeIdentifier: UInt = 1

    /// Creates a poller. Throws when the process is out of descriptors.
    init() throws(SystemError) {
        descriptor = try systemCall("kqueue") { kqueue() }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        events = .allocate(capacity: PollerLimit.eventsPerWait)
        events.initialize(repeating: kevent(), count: PollerLimit.eventsPerWait)
        var change = kevent(
            ident: Self.wakeIdentifier, filter: Int16(EVFILT_USER), flags: UInt16(EV_ADD | EV_CLEAR), fflags: 0, data: 0, udata: nil)
        guard case .success = attemptSystemCall({ kevent(descriptor, &change, 1, nil, 0, nil) }) else {
            preconditionFailure("kqueue refused its own wake-up event")
        }
    }

    deinit {
        events.deallocate()
        close(descriptor)
    }

    /// Watches `file` and reports it with `token`.
    func add(_ file: Int32, _ interest: PollInterest, token: UInt64) throws(SystemError) {
        try change(file, from: [], to: interest, token: token)
    }

    /// Changes the events for which `file` is watched.
    func change(_ file: Int32, from old: PollInterest, to new: PollInterest, token: UInt64) throws(SystemError) {
        try setRead(file, from: old, to: new, token: token)
        if old.contains(.write) != new.contains(.write) {
            try submit(file, EVFILT_WRITE, new.contains(.write) ? EV_ADD : EV_DELETE, token)
        }
    }

    /// Stops watching `file`, which must still be open.
    func remove(_ file: Int32, _ interest: PollInterest) {
        do throws(SystemError) {
            try change(file, from: interest, to: [], token: 0)
        } catch {
            assertionFailure("descriptor \(file) was closed before it was deregistered")
        }
    }

    /// Waits for at most `timeout` nanoseconds (nil: without a limit). Returns the number of events
    /// of `event(_:)`.
    func wait(timeout: Nanoseconds?) -> Int {
        let capacity = Int32(PollerLimit.eventsPerWait)
        let outcome = attemptSystemCall(retrying: false) { () -> Int32 in
            guard let timeout else { return kevent(descriptor, nil, 0, events, capacity, nil) }
            var time = timespec(tv_sec: Int(max(0, timeout) / 1_000_000_000), tv_nsec: Int(max(0, timeout) % 1_000_000_000))
            return kevent(descriptor, nil, 0, events, capacity, &time)
        }
        switch outcome {
        case .success(let count): return Int(count)
        case .failure(let code):
            precondition(code == EINTR, "kevent failed with error \(code)")
            return 0
        }
    }

    /// Returns an event of the last `wait`, or nil for the wake-up and for an event that was not
    /// asked for.
    func event(_ index: Int) -> (token: UInt64, events: PollEvents)? {
        let event = events[index]
        if Int32(event.filter) == EVFILT_USER { return nil }
        let token = UInt64(UInt(bitPattern: event.udata))
        let isEnd = event.flags & UInt16(EV_EOF) != 0
        if event.flags & UInt16(EV_ERROR) != 0 || (isEnd && event.fflags != 0) { return (token, .failed) }
        if Int32(event.filter) == EVFILT_WRITE { return (token, isEnd ? .failed : .writable) }
        let isEdge = event.flags & UInt16(EV_CLEAR) != 0
        if isEdge { return isEnd ? (token, .peerClosed) : nil }
        return (token, isEnd ? [.readable, .peerClosed] : .readable)
    }

    /// Makes `wait` return. May be called on any thread.
    func wake() {
        var change = kevent(
            ident: Self.wakeIdentifier, filter: Int16(EVFILT_USER), flags: 0, fflags: UInt32(NOTE_TRIGGER), data: 0, udata: nil)
        guard case .success = attemptSystemCall({ kevent(descriptor, &change, 1, nil, 0, nil) }) else {
            return assertionFailure("kqueue refused a wake-up")
        }
    }

    private func setRead(_ file: Int32, from old: PollInterest, to new: PollInterest, token: UInt64) throws(SystemError) {
        let both = PollInterest.readOrPeerClosed
        guard old.intersection(both) != new.intersection(both) else { return }
        // Adding an existing filter again keeps its EV_CLEAR flag, so delete the filter first.
        if !old.isDisjoint(with: both) { try submit(file, EVFILT_READ, EV_DELETE, token) }
        if new.contains(.read) {
            try submit(file, EVFILT_READ, EV_ADD, token)
        } else if new.contains(.peerClosed) {
            try submit(file, EVFILT_READ, EV_ADD | EV_CLEAR, token)
        }
    }

    private func submit(_ file: Int32, _ filter: Int32, _ flags: Int32, _ token: UInt64) throws(SystemError) {
        var change = kevent(
            ident: UInt(file), filter: Int16(filter), flags: UInt16(flags), fflags: 0, data: 0,
            udata: UnsafeMutableRawPointer(bitPattern: UInt(token)))
        _ = try systemCall("kevent", on: "descriptor \(file)") { kevent(descriptor, &change, 1, nil, 0, nil) }
    }
}
#endif
