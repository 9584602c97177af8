import BlobShelf
import Spool
import SpoolBlobs
import SpoolOrigin
import SpoolStore
import SpoolTesting
import Testing

/// The contract suites, run by an app on its own store, transport and content transform.
@Suite(.timeLimit(.minutes(20)))
struct ContractTests {
    @Test func `the app's store satisfies the contract`() {
        let contract = StoreContract(isPersistent: false) { (_) throws(StoreError) in MemoryStore(capacityBytes: 64 << 20) }
        #expect(contract.violations() == [])
    }

    @Test func `a store that loses its commits violates the contract`() {
        let contract = StoreContract(isPersistent: true) { (_) throws(StoreError) in MemoryStore() }
        #expect(!contract.violations().isEmpty)
    }

    @Test func `a shelf of blobs satisfies the contract, and a cache plays from it after it was opened again`() async throws {
        let places = Shelves()
        #expect(BlobStoreContract { places[$0] }.violations() == [])

        let (shelf, film) = (Shelf(), CacheTests.film)
        for isSecond in [false, true] {
            let origin = ScriptedOrigin([film])
            var configuration = Configuration()
            configuration.network.transport = origin
            let cache = try MediaCache(configuration: configuration, store: shelf.openStore())
            let player = try TestPlayer(cache: cache, playing: film)
            #expect(try await player.play(bytes: .max) == 3_000_000)
            #expect(player.firstWrongOffset == nil)
            await cache.close()
            #expect(origin.log.entries.isEmpty == isSecond)
        }
    }

    @Test func `blobs that are forgotten, or listed with other sizes, violate the contract`() {
        #expect(!BlobStoreContract { _ in Shelf() }.violations().isEmpty)
        let places = Shelves()
        #expect(!BlobStoreContract { Misreporting(places[$0]) }.violations().isEmpty)
    }

    @Test func `the app's transport satisfies the contract`() {
        let unreachable = "http://unreachable.test/"
        let origin = ScriptedOrigin(TransportContract.resources(base: "http://media.test")) { request, number in
            request.url == unreachable ? .refuse : TransportContract.script(request, number)
        }
        let transport = CountingTransport(around: origin)
        let contract = TransportContract(transport, base: "http://media.test", unreachable: unreachable)
        #expect(contract.violations() + contract.violationsOfClose() == [])
        #expect(transport.requestCount == origin.log.entries.count)
    }

    @Test func `an origin on a socket serves the same resources`() throws {
        let origin = try RawOrigin([CacheTests.film])
        defer { origin.stop() }
        #expect(origin.url("/film.mp4").hasPrefix("http://127.0.0.1:"))
    }

    @Test func `the app's content transform satisfies the contract`() {
        let contract = ContentTransformContract(key: ResourceKey(normalized: CacheTests.film.url))
        #expect(contract.violations(of: Inverting()) == [])
    }
}

/// A transport around another one, as an app writes it to count or to sign its requests.
final class CountingTransport: Transport {
    private let base: any Transport
    private let count = Counter()

    init(around base: any Transport) { self.base = base }

    var requestCount: Int { count.value }
    var windowBytes: Int64? { base.windowBytes }

    func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        count.add()
        return base.start(request, receiver: receiver)
    }

    func close() { base.close() }
}

/// A transform that inverts every bit, in place of a real cipher.
struct Inverting: ContentTransform {
    func transform(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64, of key: ResourceKey) {
        for index in bytes.indices { bytes[index] = ~bytes[index] }
    }
}

/// Shelves by their names, which are there again when they are opened again.
final class Shelves: @unchecked Sendable {
    // Safe to share: a contract opens one at a time.
    private var shelves: [String: Shelf] = [:]

    subscript(name: String) -> Shelf {
        let shelf = shelves[name] ?? Shelf()
        shelves[name] = shelf
        return shelf
    }
}

/// A place that lists blobs with other sizes.
final class Misreporting: BlobStore {
    private let base: Shelf

    init(_ base: Shelf) { self.base = base }

    func list() throws -> [BlobAttributes] { try base.list().map { BlobAttributes(name: $0.name, byteCount: $0.byteCount + 1) } }
    func put(_ bytes: [UInt8], as name: String) throws { try base.put(bytes, as: name) }
    func read(_ range: Range<Int>, of name: String) throws -> [UInt8] { try base.read(range, of: name) }
    func remove(_ name: String) throws { try base.remove(name) }
    func freeBytes() throws -> Int64? { try base.freeBytes() }
}
