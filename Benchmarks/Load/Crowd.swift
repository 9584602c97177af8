/// Many connections with different paces at once, for a given time.
///
/// Every received byte is compared with the source.
final class Crowd {
    /// The way in which a member reads.
    enum Pace {
        /// Reads what is there, and sends a new request when an answer is complete.
        case fast
        /// Takes at most 16 KiB twenty times a second.
        case slow
        /// Reads this many bytes and then no more. The connection stays open.
        case stopping(afterBytes: Int64)
    }

    /// The results of all members.
    struct Result {
        var bytes: Int64 = 0
        /// The number of members that got at least one byte of a body.
        var served = 0
        var completed = 0
    }

    private struct Member {
        let connection: LoadConnection
        let pace: Pace
        /// Returns the request with this number, or nil when the member makes no more.
        let request: (Int) -> LoadRequest?
        var asked = 0
    }

    private var members: [Member] = []
    private let readiness: Readiness
    private let buffer: UnsafeMutableRawBufferPointer
    private var completed = 0

    private static let slowBytes = 16 * 1024
    private static let tickNanoseconds: UInt64 = 50_000_000

    init() throws {
        readiness = try Readiness()
        buffer = .allocate(byteCount: LoadGenerator.bufferBytes, alignment: 4096)
    }

    deinit {
        buffer.deallocate()
    }

    /// Opens a connection. `request` returns its first request, its second, and so on.
    func add(_ pace: Pace, port: UInt16, request: @escaping (Int) -> LoadRequest?) throws {
        var kernelBytes: Int32?
        if case .fast = pace {
            kernelBytes = nil
        } else {
            kernelBytes = Int32(Self.slowBytes)
        }
        let connection = try LoadConnection(port: port, receiveBufferBytes: kernelBytes)
        if case .fast = pace { try readiness.add(connection.descriptor, token: members.count) }
        members.append(Member(connection: connection, pace: pace, request: request))
    }

    /// Lets all members read for `seconds` seconds.
    func run(seconds: Double, source: SourceFile) throws -> Result {
        try begin()
        let start = nanoseconds()
        var nextTick = start
        while nanoseconds() - start < UInt64(seconds * 1e9) {
            try turn(milliseconds: 10, source)
            if nanoseconds() >= nextTick {
                nextTick += Self.tickNanoseconds
                try tick(source)
            }
        }
        return result
    }

    /// Sends the first request of every member.
    func begin() throws {
        for index in members.indices { try ask(index) }
    }

    /// Closes all connections.
    func close() { members = [] }

    /// Lets the fast members read what is there, and waits for it at most so long.
    func turn(milliseconds: Int32, _ source: SourceFile) throws {
        _ = try readiness.wait(milliseconds: milliseconds) { token in
            try read(token, into: buffer, source)
        }
    }

    /// What the members have got so far.
    var result: Result {
        let served = members.count { $0.connection.receivedBytes > 0 }
        return Result(bytes: members.reduce(0) { $0 + $1.connection.receivedBytes }, served: served, completed: completed)
    }

    private func tick(_ source: SourceFile) throws {
        let small = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Self.slowBytes])
        for index in members.indices {
            switch members[index].pace {
            case .fast: break
            case .slow: try read(index, into: small, source)
            case .stopping(let limit):
                if members[index].connection.receivedBytes < limit { try read(index, into: small, source) }
            }
        }
    }

    private func read(_ index: Int, into buffer: UnsafeMutableRawBufferPointer, _ source: SourceFile) throws {
        guard try members[index].connection.receive(into: buffer, source: source) != nil else { return }
        completed += 1
        try ask(index)
    }

    private func ask(_ index: Int) throws {
        guard let request = members[index].request(members[index].asked) else { return }
        members[index].asked += 1
        try members[index].connection.begin(request)
    }
}
