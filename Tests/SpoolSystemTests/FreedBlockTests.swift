#if !canImport(Darwin)
import SpoolCore
import SpoolLibc
import SpoolSystem
import Testing

/// The kernel may keep references to the pages of a file that `sendfile` has sent. Freeing a block
/// of the file must not change these bytes, however long the client waits before it reads them.
@Suite(.timeLimit(.minutes(20))) struct FreedBlockTests {
    /// How the pages came into the page cache.
    enum Beginning: CaseIterable, Sendable {
        case written, read
    }

    private let block = 64 * 1024
    /// Read-ahead makes large folios only after many reads in order.
    private let fileBytes = 40 << 20
    /// Where the bytes that are sent begin, and the block that is freed among them.
    private let start = 32 << 20, freed = (32 << 20) + 5 * 64 * 1024

    @Test(arguments: Beginning.allCases)
    func `a client gets the bytes of a block that was freed after they were sent`(pages: Beginning) throws {
        try withTemporaryDirectory { disk, root in
            let file = try file(on: disk, in: root, pages)
            let descriptor = try #require(file.descriptor)
            let listener = try Socket.listening(on: try #require(SocketAddress(literal: "127.0.0.1", port: 0)))
            let bound = listener.localAddress
            let client = try connected(to: try #require(bound))
            defer { close(client) }
            guard case .socket(let server) = listener.accept() else {
                Issue.record("the client is not connected")
                return
            }
            var sent = 0
            while sent < 2 << 20, case .count(let count) = server.sendFile(descriptor, offset: Int64(start + sent), count: 2 << 20 - sent) {
                sent += count
            }
            try #require(start + sent >= freed + block)
            try file.punchHole(at: Int64(freed), count: Int64(block))
            var received = [UInt8](repeating: 0, count: sent)
            var count = 0
            while count < sent {
                let got = received.withUnsafeMutableBytes { Glibc.read(client, $0.baseAddress! + count, sent - count) }
                try #require(got > 0)
                count += got
            }
            #expect(received.firstIndex(of: 0) == nil)
        }
    }

    /// Makes a file without a zero.
    private func file(on disk: POSIXFileSystem, in root: String, _ pages: Beginning) throws -> any SpoolSystem.FileHandle {
        let file = try disk.open(root + "/file", .create)
        file.disableReadAhead()
        var bytes = [UInt8](repeating: 0xA5, count: 1 << 20)
        for offset in stride(from: 0, to: fileBytes, by: bytes.count) {
            try bytes.withUnsafeBytes { try file.write($0, at: Int64(offset)) }
        }
        guard pages == .read, let descriptor = file.descriptor else { return file }
        // The cache forgets the pages that were written.
        try file.synchronize(full: false)
        #expect(posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) == 0)
        for offset in stride(from: 0, to: fileBytes, by: bytes.count) {
            #expect(try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: Int64(offset)) } == bytes.count)
        }
        return file
    }
}
#endif
