import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// A store takes few descriptors, whatever is stored in it and whoever holds its files.
struct OpenFilesTests {
    private let limits = OpenFileLimits()

    @Test func `a thousand files that are in use take no more descriptors than the store may have`() throws {
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
        // Each of them is still read and written by who holds it.
        for (sample, generation, file) in held {
            try file.write(sample.pattern(generation.rawValue, at: 100, count: 50), at: 100)
            let bytes = try file.bytes(at: 0, count: 200)
            #expect(bytes == sample.pattern(generation.rawValue, at: 0, count: 150))
            #expect(disk.openHandleCount - before <= OpenFileLimits.appDescriptors)
        }
        try store.makeDurable()
        #expect(disk.openHandleCount - before <= limits.keptFiles)
    }

    @Test func `a file that is used all the time stays open`() throws {
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
        // One for each new file, and none for the popular one.
        #expect(disk.callCount(of: .open) - opensBefore == 500)
    }

    @Test func `files that nobody holds any more give their places to others`() throws {
        let disk = MemoryDisk()
        let store = try SQLiteStore.simulated(on: disk)
        for number in 0..<500 { try StoreSample("gone \(number)").store([0..<100], of: store.makeGeneration(), in: store) }
        try store.makeDurable()
        let before = disk.openHandleCount
        let held = try (0..<limits.keptFiles).map {
            try StoreSample("held \($0)").store([0..<100], of: store.makeGeneration(), in: store)
        }
        try store.makeDurable()
        // All of them are open: those before do not count any more.
        #expect(disk.openHandleCount - before == limits.keptFiles)
        withExtendedLifetime(held) {}
    }

    @Test func `the bytes of a removed file are read by who holds it though the store had closed it`() throws {
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

    @Test func `a file is stored though the process has no descriptor left`() throws {
        let disk = MemoryDisk()
        let store = try SQLiteStore.simulated(on: disk)
        let held = try (0..<20).map { try StoreSample("file \($0)").store([0..<100], of: store.makeGeneration(), in: store) }
        let before = disk.openHandleCount
        disk.setFaults(FaultPlan(faults: [FaultPlan.Fault(.open, .call(1), code: EMFILE)]))
        let film = StoreSample("film")
        let generation = store.makeGeneration()
        let file = try film.store([0..<100], of: generation, in: store)
        // The store gave up its own descriptors for this one.
        #expect(disk.openHandleCount < before)
        try store.makeDurable()
        let later = try SQLiteStore.simulated(on: disk.powerLoss(random: SeededRandom(seed: 3)), bootID: "second boot")
        for sample in [film, StoreSample("file 0"), StoreSample("file 19")] {
            #expect(try later.lookup(sample.key)?.spans == .of(0..<100))
        }
        withExtendedLifetime((held, file)) {}
    }

    @Test func `a descriptor that is being sent from stays open`() throws {
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
        // Reading opens it again.
        _ = try file.bytes(at: 0, count: 1)
        #expect(file.descriptor != nil)
        withExtendedLifetime((others, descriptor, directory)) {}
        try store.close()
    }

    @Test func `bytes of a file that another program has put in the place of a closed one are not taken for stored ones`() throws {
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
