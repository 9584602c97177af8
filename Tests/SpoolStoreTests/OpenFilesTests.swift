import SpoolCore
import SpoolLibc
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// A store uses few descriptors, however much it stores and however many files are in use.
struct OpenFilesTests {
    private let limits = OpenFileLimits()

    @Test func `a thousand files in use stay within the store's limit of descriptors`() throws {
        let disk = MemoryDisk()
        let store = try SQLiteStore.simulated(on: disk)
        let before = disk.openHandleCount
        var held: [(sample: StoreSample, generation: GenerationID, file: any DataFile)] = []
        for number in 0..<1000 {
            let sample = StoreSample("file \(number)")
            let generation = store.makeGeneration()
            held.append((sample, generation, try sample.store([0..<100], of: generation, in: store)))
            #expect(disk.openHandleCount - before <= OpenFileLimits.appDescriptors)
        }
        // Their holders can still read and write each of them.
        for (sample, generation, file) in held {
            try file.write(sample.pattern(generation.rawValue, at: 100, count: 50), at: 100)
            let bytes = try file.bytes(at: 0, count: 200)
            #expect(bytes == sample.pattern(generation.rawValue, at: 0, count: 150))
            #expect(disk.openHandleCount - before <= OpenFileLimits.appDescriptors)
        }
        try store.makeDurable()
        #expect(disk.openHandleCount - before <= limits.keptFiles)
    }

    @Test func `a file in constant use stays open`() throws {
        let disk = MemoryDisk()
        let store = try SQLiteStore.simulated(on: disk)
        let popular = StoreSample("popular")
        let generation = store.makeGeneration()
        let file = try popular.store([0..<100], of: generation, in: store)
        try store.makeDurable()
        let opensBefore = disk.callCount(of: .open)
        for number in 0..<500 {
            try StoreSample("file \(number)").store([0..<100], of: store.makeGeneration(), in: store)
            _ = try file.bytes(at: 0, count: 1)
        }
        // Each new file is opened once, and the popular one never again.
        #expect(disk.callCount(of: .open) - opensBefore == 500)
    }

    @Test func `released files give up their places`() throws {
        let disk = MemoryDisk()
        let store = try SQLiteStore.simulated(on: disk)
        for number in 0..<500 { try StoreSample("gone \(number)").store([0..<100], of: store.makeGeneration(), in: store) }
        try store.makeDurable()
        let before = disk.openHandleCount
        let held = try (0..<limits.keptFiles).map {
            try StoreSample("held \($0)").store([0..<100], of: store.makeGeneration(), in: store)
        }
        try store.makeDurable()
        // All of them are open: the released files do not count any more.
        #expect(disk.openHandleCount - before == limits.keptFiles)
        withExtendedLifetime(held) {}
    }

    @Test func `a removed file stays readable for its holder after the store closed it`() throws {
        let disk = MemoryDisk()
        let store = try SQLiteStore.simulated(on: disk)
        let film = StoreSample("film")
        let generation = store.makeGeneration()
        let file = try film.store([0..<1000], of: generation, in: store)
        try store.makeDurable()
        let others = try (0..<100).map { try StoreSample("file \($0)").store([0..<100], of: store.makeGeneration(), in: store) }
        #expect(try store.remove(film.key))
        #expect(try file.bytes(at: 0, count: 1000) == film.pattern(generation.rawValue, at: 0, count: 1000))
        withExtendedLifetime(others) {}
    }

    @Test func `a file is stored even if the process has no descriptor left`() throws {
        let disk = MemoryDisk()
        let store = try SQLiteStore.simulated(on: disk)
        let held = try (0..<20).map { try StoreSample("file \($0)").store([0..<100], of: store.makeGeneration(), in: store) }
        let before = disk.openHandleCount
        disk.setFaults(FaultPlan(faults: [FaultPlan.Fault(.open, .call(1), code: EMFILE)]))
        let film = StoreSample("film")
        let generation = store.makeGeneration()
        let file = try film.store([0..<100], of: generation, in: store)
        // The store closed its own descriptors to make room for this one.
        #expect(disk.openHandleCount < before)
        try store.makeDurable()
        let later = try SQLiteStore.simulated(on: disk.powerLoss(random: SeededRandom(seed: 3)), bootID: "second boot")
        for sample in [film, StoreSample("file 0"), StoreSample("file 19")] {
            #expect(try later.lookup(sample.key)?.spans == .of(0..<100))
        }
        withExtendedLifetime((held, file)) {}
    }

    @Test func `a descriptor in use by sendfile stays open`() throws {
        let directory = try TemporaryDirectory()
        let store = try DiskStore(directory).open()
        let film = StoreSample("film")
        let generation = store.makeGeneration()
        let file = try film.store([0..<1000], of: generation, in: store)
        try store.makeDurable()
        let descriptor = try #require(file.descriptor)
        let others = try (0..<100).map { try StoreSample("file \($0)").store([0..<100], of: store.makeGeneration(), in: store) }
        try store.makeDurable()
        #expect(file.descriptor == nil)
        var bytes = [UInt8](repeating: 0, count: 1000)
        #expect(pread(descriptor.number, &bytes, bytes.count, 0) == 1000)
        #expect(bytes == film.pattern(generation.rawValue, at: 0, count: 1000))
        // The next read opens the file again.
        _ = try file.bytes(at: 0, count: 1)
        #expect(file.descriptor != nil)
        withExtendedLifetime((others, descriptor, directory)) {}
        try store.close()
    }

    @Test func `a file that replaced a closed one is not read as stored bytes`() throws {
        let directory = try TemporaryDirectory()
        let place = DiskStore(directory)
        let store = try place.open()
        let file = try StoreSample("film").store([0..<1000], of: store.makeGeneration(), in: store)
        let path = try #require(try place.dataFiles().first)
        try store.makeDurable()
        let others = try (0..<100).map { try StoreSample("file \($0)").store([0..<100], of: store.makeGeneration(), in: store) }
        try store.makeDurable()
        let disk = POSIXFileSystem()
        let foreign = try disk.open(path + ".new", .create)
        try foreign.truncate(to: 1000)
        try disk.rename(path + ".new", to: path)
        #expect(throws: StoreError.self) { try file.bytes(at: 0, count: 1000) }
        withExtendedLifetime(others) {}
        try store.close()
    }
}
