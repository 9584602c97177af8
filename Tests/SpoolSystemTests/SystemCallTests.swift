import SpoolLibc
import SpoolSystem
import Testing

@Suite struct SystemCallTests {
    /// Fails with the given errnos one after the other, then returns a result.
    private struct ForcedErrno {
        var codes: [Int32]
        var calls = 0

        mutating func callAsFunction(result: Int32) -> Int32 {
            calls += 1
            guard !codes.isEmpty else { return result }
            errno = codes.removeFirst()
            return -1
        }
    }

    @Test func `an interrupted call is repeated until it succeeds or fails otherwise`() throws {
        var forced = ForcedErrno(codes: [EINTR, EINTR, EINTR])
        let result = try systemCall("read") { forced(result: 7) }
        #expect(result == 7)
        #expect(forced.calls == 4)
    }

    @Test func `a failed call is not repeated, and its error names operation and subject`() {
        var forced = ForcedErrno(codes: [EINTR, EIO, EIO])
        let error = #expect(throws: SystemError.self) { try systemCall("pread", on: "/media/a") { forced(result: 7) } }
        #expect(error == SystemError(code: EIO, operation: "pread", subject: "/media/a"))
        #expect(forced.calls == 2)
    }

    @Test func `attemptSystemCall returns the errno as a value`() {
        var forced = ForcedErrno(codes: [EINTR, EAGAIN])
        guard case .failure(EAGAIN) = attemptSystemCall({ forced(result: 7) }) else {
            Issue.record("the errno was lost")
            return
        }
        #expect(forced.calls == 2)
    }

    @Test func `a call without retrying is not repeated after an interruption`() {
        var forced = ForcedErrno(codes: [EINTR])
        guard case .failure(EINTR) = attemptSystemCall(retrying: false, { forced(result: 0) }) else {
            Issue.record("the interruption was hidden")
            return
        }
        #expect(forced.calls == 1)
    }

    @Test(arguments: [
        (ENOSPC, "free some space"), (EMFILE, "ulimit -n"), (EACCES, "use another directory"), (EROFS, "read-only"),
    ])
    func `an error that a user can fix includes advice`(code: Int32, advice: String) {
        let text = SystemError(code: code, operation: "open", subject: "/data/x").description
        #expect(text.hasPrefix("open on /data/x failed: "))
        #expect(text.contains("errno \(code)"))
        #expect(text.contains(advice))
    }

    @Test func `an unknown errno still has a description`() {
        #expect(SystemError(code: 12_345, operation: "ioctl").description.contains("12345"))
    }
}
