import SpoolLibc
import SpoolSystem
import Testing

/// Tests properties of the real file system alone. The common contract is tested together with the
/// in-memory disk's.
@Suite struct POSIXFileSystemTests {
    @Test func `files and directories are accessible to their owner only`() throws {
        try withTemporaryDirectory { disk, root in
            try disk.createDirectory("\(root)/a/b")
            _ = try disk.open("\(root)/a/b/file", .create)
            #expect(try permissions("\(root)/a") == 0o700)
            #expect(try permissions("\(root)/a/b") == 0o700)
            #expect(try permissions("\(root)/a/b/file") == 0o600)
        }
    }

    @Test func `an open file is not inherited by child processes`() throws {
        try withTemporaryDirectory { disk, root in
            let handle = try disk.open("\(root)/file", .create)
            let descriptor = try #require(handle.descriptor)
            #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        }
    }

    @Test func `a full disk is reported with advice`() throws {
        #if os(Linux)
        let number = try systemCall("open") { open("/dev/full", O_WRONLY) }
        let handle = POSIXFileHandle(FileDescriptor(owning: number), path: "/dev/full")
        let error = #expect(throws: SystemError.self) {
            try withUnsafeBytes(of: 1) { bytes in try handle.write(bytes, at: 0) }
        }
        #expect(error == SystemError(code: ENOSPC, operation: "pwrite", subject: "/dev/full"))
        #endif
    }

    @Test func `a lock excludes other handles until its handle is closed`() throws {
        try withTemporaryDirectory { disk, root in
            var first: (any FileHandle)? = try disk.open("\(root)/lock", .create)
            let second = try disk.open("\(root)/lock", .create)
            #expect(try first?.lock(.exclusive) == true)
            #expect(try second.lock(.exclusive) == false)
            first = nil
            #expect(try second.lock(.exclusive))
        }
    }

    @Test func `bytes just written and bytes beyond the end count as resident`() throws {
        try withTemporaryDirectory { disk, root in
            let handle = try disk.open("\(root)/file", .create)
            let descriptor = try #require(handle.descriptor)
            let bytes = [UInt8](repeating: 1, count: 1 << 20)
            try bytes.withUnsafeBytes { buffer in try handle.write(buffer, at: 0) }
            readAhead(descriptor: descriptor, offset: 0, count: 1 << 20)
            // A file system that can't report residency may answer false; then the test proves
            // nothing.
            if isResident(descriptor: descriptor, offset: 0, count: 4096) {
                #expect(isResident(descriptor: descriptor, offset: 0, count: 1 << 20))
                #expect(isResident(descriptor: descriptor, offset: 2 << 20, count: 1))
            }
            #expect(isResident(descriptor: descriptor, offset: 0, count: 0))
        }
    }

    @Test func `reading ahead in an unreadable file leaves the error to the read`() {
        readAhead(descriptor: 1 << 20, offset: 0, count: 100)
        #expect(isResident(descriptor: 1 << 20, offset: 0, count: 100))
    }

    @Test func `a disk reports its free room`() throws {
        try withTemporaryDirectory { disk, root in
            let free = try #require(try disk.freeBytes(root))
            #expect(free > 0)
        }
    }

    private func permissions(_ path: String) throws -> mode_t {
        var value = stat()
        _ = try systemCall("stat", on: path) { stat(path, &value) }
        return value.st_mode & 0o777
    }
}
