import Foundation
import Spool
import SpoolCore
import SpoolProxy
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// Stored bytes that the disk has lost are fetched again in the same answer; those that can't be read at this moment are kept.
@Suite(.timeLimit(.minutes(20))) struct LostBytesTests {
    /// A proxy that has the film stored, and the path of its data file.
    private func stored(_ film: VirtualResource, _ kind: StoreKind) throws -> (world: ProxyWorld, path: String) {
        let directory = try TemporaryDirectory()
        let world = try ProxyWorld([film], store: kind, directory: directory)
        #expect(try world.get(film.target).body == film.allBytes)
        try world.wait(for: film.url) { $0.isComplete && $0.fetches == 0 }
        let files = FileManager.default.enumerator(atPath: directory.path + "/data")?.compactMap { $0 as? String } ?? []
        let name = try #require(files.first { $0.split(separator: "/").count == 3 })
        return (world, directory.path + "/data/" + name)
    }

    /// The short way sends the first 2 MiB without a question, so the cut lies once in them and once behind them.
    @Test(arguments: [StoreKind.files, .encrypted], [Int64(150_000), 2_500_000])
    func `what another program has cut off a stored file is fetched again in the same answer`(store: StoreKind, end: Int64) throws {
        let film = VirtualResource.film(length: 3_000_000)
        let (world, path) = try stored(film, store)
        defer { world.stop() }
        let client = try world.connect()
        #expect(try client.get(film.target, ["Range": "bytes=0-9"]).status == 206)
        try POSIXFileSystem().open(path, .readWrite).truncate(to: end)
        for _ in 0..<2 { #expect(try client.get(film.target).body == film.allBytes) }
        // What is still there is not fetched again, but for the blocks around the cut. The store writes no more to a file that was cut.
        #expect(world.origin.log.handedOver(film.url).bytes < film.length + 2 * (film.length - end) + 1_000_000)
    }

    @Test func `only what the disk can't read any more is lost`() {
        func loses(_ code: Int32) -> Bool { StoreError.io(SystemError(code: code, operation: "pread")).losesBytes }
        #expect([EIO, ESTALE, ENOENT].allSatisfy(loses))
        #expect(![EPERM, EACCES, EMFILE, ENFILE, EINTR, EWOULDBLOCK].contains(where: loses))
    }
}
