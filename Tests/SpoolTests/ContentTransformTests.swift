import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct ContentTransformTests {
    private let film = VirtualResource(url: "http://origin.test/film.bin", seed: 9, length: 1_500_001)
    private static let counterMode = CounterModeTransform(key: [UInt8](1...16), nonce: [UInt8](21...28))

    // MARK: The contract

    @Test func `AES in counter mode keeps the contract from any offset`() {
        let contract = ContentTransformContract(key: ResourceKey(normalized: "film"), seed: Seeds.list(count: 1)[0])
        #expect(contract.violations(of: Self.counterMode) == [])
    }

    @Test func `the key stream consists of the encrypted counter blocks`() throws {
        // The key of NIST SP 800-38A F.5.1, with a nonce of zeros.
        let transform = CounterModeTransform(key: bytes("2b7e151628aed2a6abf7158809cf4f3c"), nonce: [UInt8](repeating: 0, count: 8))
        #expect(try changed([UInt8](repeating: 0, count: 16), 0, by: transform) == bytes("7df76b0c1ab899b33e42f047b91b546f"))
        #expect(transform.counterBlock(0x0102_0304_0506_0708).suffix(8) == [1, 2, 3, 4, 5, 6, 7, 8])
    }

    @Test func `the contract reports each transform that breaks it`() {
        struct ByCall: ContentTransform {
            // Counts from the start of each call, which is right only for reads of the whole file.
            func transform(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64, of key: ResourceKey) {
                for index in bytes.indices { bytes[index] ^= UInt8(truncatingIfNeeded: index) }
            }
        }
        struct Forgetful: ContentTransform {
            let calls = Locked(UInt8(0))
            func transform(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64, of key: ResourceKey) {
                let call = calls.withLock { calls -> UInt8 in
                    calls &+= 1
                    return calls
                }
                for index in bytes.indices { bytes[index] ^= call }
            }
        }
        struct Failing: ContentTransform {
            func transform(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64, of key: ResourceKey) throws {
                throw CounterModeTransform.Failure()
            }
        }
        let contract = ContentTransformContract(key: ResourceKey(normalized: "film"), rounds: 5)
        for transform in [ByCall(), Forgetful(), Failing()] as [any ContentTransform] {
            #expect(contract.violations(of: transform) != [], "\(transform)")
        }
    }

    // MARK: Through a cache

    @Test(arguments: [false, true])
    func `a reader gets transformed bytes while the store keeps the origin's`(isFromConfiguration: Bool) async throws {
        let disk = MemoryDisk()
        let world = try openWorld(on: disk) { if isFromConfiguration { $0.contentTransform = Self.counterMode } }
        var options = ReadOptions()
        if !isFromConfiguration { options.contentTransform = Self.counterMode }
        let wanted = try changed(origin, 0, by: Self.counterMode)
        // First from the origin, then from the store.
        #expect(try await world.cache.reader(for: film.url, options: options).bytes() == wanted)
        let status = try await world.status(of: film) { $0.isComplete }
        #expect(status.isComplete)
        #expect(try await world.cache.reader(for: film.url, options: options).bytes() == wanted)
        #expect(world.cache.statistics.bytesFromOrigin + world.cache.statistics.bytesFromStore == 2 * film.length)
        #expect(world.cache.statistics.bytesFromStore >= film.length)
        await world.cache.close()
        // Without the transform, reads return the bytes that the origin sent.
        let plain = try openWorld(on: disk)
        #expect(try await plain.cache.reader(for: film.url, options: ReadOptions(mode: .onlyStored)).bytes() == origin)
        await plain.cache.close()
    }

    @Test func `seeks through a transform land on the right bytes`() async throws {
        let world = try openWorld(on: MemoryDisk()) { $0.contentTransform = Self.counterMode }
        let wanted = try changed(origin, 0, by: Self.counterMode)
        let reader = try world.cache.reader(for: film.url)
        let seed = Seeds.list(count: 1)[0]
        let random = SeededRandom(seed: seed)
        for _ in 0..<40 {
            let lower = Int(random.next(below: UInt64(film.length)))
            let count = min(wanted.count - lower, 1 + Int(random.next(below: 150_000)))
            let isRight = try await reader.read(at: Int64(lower), count: count) == Array(wanted[lower..<lower + count])
            #expect(isRight, "seed \(seed): \(lower)..<\(lower + count)")
        }
        await world.cache.close()
    }

    @Test(arguments: [false, true])
    func `a transform that throws fails the reader, which gets no untransformed byte`(isStored: Bool) async throws {
        struct Broken: ContentTransform {
            func transform(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64, of key: ResourceKey) throws {
                // Half of the bytes are changed when the transform fails.
                bytes.prefix(bytes.count / 2).copyBytes(from: [UInt8](repeating: 7, count: bytes.count / 2))
                throw CounterModeTransform.Failure()
            }
        }
        let world = try openWorld(on: MemoryDisk())
        if isStored {
            _ = try await world.cache.reader(for: film.url).bytes()
            _ = try await world.status(of: film) { $0.isComplete }
        }
        var options = ReadOptions()
        options.contentTransform = Broken()
        let reader = try world.cache.reader(for: film.url, options: options)
        for _ in 0..<2 {
            do {
                let bytes = try await reader.read(at: 0, count: 1000)
                Issue.record("\(bytes.count) bytes came through")
            } catch {
                #expect(error.code == .transform)
                #expect(error.cause is CounterModeTransform.Failure)
            }
        }
        // The failure discards no stored byte.
        #expect(try await world.cache.reader(for: film.url).bytes() == origin)
        #expect(!world.events.all.contains { if case .damageFound = $0 { true } else { false } })
        await world.cache.close()
    }

    // MARK: Support

    private var origin: [UInt8] { film.content.bytes(at: 0, count: Int(film.length)) }

    private func openWorld(on disk: MemoryDisk, _ change: (inout Configuration) -> Void = { _ in }) throws -> EngineWorld {
        var options = SQLiteStore.Options()
        options.usesFileSystemForIndex = true
        let store = try SQLiteStore(directory: "/cache", fileSystem: disk, random: SystemRandom(), options: options)
        return try EngineWorld([film], store: store, configuration: change)
    }

    private func changed(_ bytes: [UInt8], _ offset: Int64, by transform: some ContentTransform) throws -> [UInt8] {
        var bytes = bytes
        var failure: (any Error)?
        bytes.withUnsafeMutableBytes { buffer in
            do { try transform.transform(buffer, at: offset, of: ResourceKey(normalized: film.url)) } catch { failure = error }
        }
        if let failure { throw failure }
        return bytes
    }

    private func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = hexadecimal.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
