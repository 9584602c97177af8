import Spool
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
