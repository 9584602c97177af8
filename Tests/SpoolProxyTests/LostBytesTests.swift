import Foundation
import Spool
import SpoolCore
import SpoolLibc
import SpoolProxy
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// The proxy fetches stored bytes that the disk has lost in the same answer. It keeps bytes that
/// only cannot be read at this moment.
@Suite(.timeLimit(.minutes(20))) struct LostBytesTests {
    /// Makes a proxy with the film stored.
    ///
    /// - Returns: The proxy, and the path of the film's data file.
    private func stored(_ film: VirtualResource, _ kind: StoreKind) throws -> (world: ProxyWorld, path: String) {
        let directory = try TemporaryDirectory()
        let world = try ProxyWorld([film], store: kind, directory: directory)
        #expect(try world.get(film.target).body == film.allBytes)
        try world.wait(for: film.url) { $0.isComplete && $0.fetches == 0 }
        let files = FileManager.default.enumerator(atPath: directory.path + "/data")?.compactMap { $0 as? String } ?? []
        let name = try #require(files.first { $0.split(separator: "/").count == 3 })
        return (world, directory.path + "/data/" + name)
    }

    /// The short path sends the first 2 MiB without a further check, so one cut lies inside them
    /// and one beyond.
    @Test(arguments: [StoreKind.files, .encrypted], [Int64(150_000), 2_500_000])
    func `bytes that another program cut off a stored file are fetched in the same answer`(store: StoreKind, end: Int64) throws {
        let film = VirtualResource.film(length: 3_000_000)
        let (world, path) = try stored(film, store)
        defer { world.stop() }
        let client = try world.connect()
        #expect(try client.get(film.target, ["Range": "bytes=0-9"]).status == 206)
        try POSIXFileSystem().open(path, .readWrite).truncate(to: end)
        for _ in 0..<2 { #expect(try client.get(film.target).body == film.allBytes) }
        // The bytes before the cut are not fetched again, except in the blocks around it. The store
        // writes no more to a file that was cut. Requests that end early cost what the origin had
        // already sent.
        #expect(world.origin.log.handedOver(film.url).bytes < film.length + 2 * (film.length - end) + 2_000_000)
    }

    @Test func `only a lasting read error counts as lost bytes`() {
        func loses(_ code: Int32) -> Bool { StoreError.io(SystemError(code: code, operation: "pread")).losesBytes }
        #expect([EIO, ESTALE, ENOENT].allSatisfy(loses))
        #expect(![EPERM, EACCES, EMFILE, ENFILE, EINTR, EWOULDBLOCK].contains(where: loses))
    }
}
