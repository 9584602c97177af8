import SpoolLibc
import SpoolSystem
import Testing

/// Another test may reuse a descriptor's number as soon as it is closed, so these tests observe the
/// other end of a pipe.
@Suite(.timeLimit(.minutes(20))) struct FileDescriptorTests {
    private func makePipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [-1, -1]
        _ = try systemCall("pipe") { pipe(&ends) }
        return (ends[0], ends[1])
    }

    private func isAtEnd(_ reading: borrowing FileDescriptor) throws -> Bool {
        try poll(reading, milliseconds: 0)
    }

    /// Waits for the end of the pipe. A child process of another test may have inherited the
    /// writing end and holds it until it exits.
    private func waitForEnd(_ reading: borrowing FileDescriptor) throws {
        #expect(try poll(reading, milliseconds: -1))
    }

    /// Returns true when every writer of the pipe has closed it.
    private func poll(_ reading: borrowing FileDescriptor, milliseconds: Int32) throws -> Bool {
        var ready = pollfd(fd: reading.rawValue, events: Int16(POLLIN), revents: 0)
        let number = nfds_t(1)
        #if canImport(Darwin)
        _ = try systemCall("poll") { Darwin.poll(&ready, number, milliseconds) }
        #else
        _ = try systemCall("poll") { Glibc.poll(&ready, number, milliseconds) }
        #endif
        return ready.revents & Int16(POLLHUP) != 0
    }

    @Test func `a descriptor closes at the end of its lifetime`() throws {
        let ends = try makePipe()
        let reading = FileDescriptor(owning: ends.reading)
        do {
            let writing = FileDescriptor(owning: ends.writing)
            #expect(writing.rawValue == ends.writing)
            #expect(try !isAtEnd(reading))
        }
        try waitForEnd(reading)
    }

    @Test func `close closes a descriptor at once`() throws {
        let ends = try makePipe()
        let reading = FileDescriptor(owning: ends.reading)
        try FileDescriptor(owning: ends.writing).close()
        try waitForEnd(reading)
    }

    @Test func `a released descriptor stays open for its new owner`() throws {
        let ends = try makePipe()
        let reading = FileDescriptor(owning: ends.reading)
        let number = FileDescriptor(owning: ends.writing).release()
        #expect(number == ends.writing)
        #expect(try !isAtEnd(reading))
        let owner = FileDescriptor(owning: number)
        try owner.close()
        try waitForEnd(reading)
    }

    @Test func `a number that was never open fails to close`() {
        let error = #expect(throws: SystemError.self) { try FileDescriptor(owning: 1 << 20).close() }
        #expect(error?.code == EBADF)
    }

    @Test func `a negative number ends the process`() async {
        await #expect(processExitsWith: .failure) {
            _ = FileDescriptor(owning: -1)
        }
    }
}
