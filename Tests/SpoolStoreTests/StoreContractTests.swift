import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

@Suite struct StoreContractTests {
    @Test func `the store in memory satisfies the contract`() {
        let contract = StoreContract(isPersistent: false) { (_) throws(StoreError) in MemoryStore() }
        #expect(contract.violations() == [])
    }

    @Test func `the store on a disk satisfies the contract`() throws {
        let directory = try TemporaryDirectory()
        let contract = StoreContract(isPersistent: true) { (storage) throws(StoreError) in
            try SQLiteStore(directory: "\(directory.path)/\(storage)", fileSystem: POSIXFileSystem(), random: SystemRandom())
        }
        #expect(contract.violations() == [])
    }

    @Test func `the store on a simulated disk satisfies the contract`() {
        let disk = MemoryDisk()
        let contract = StoreContract(isPersistent: true) { (storage) throws(StoreError) in
            try SQLiteStore.simulated(on: disk, directory: "/\(storage)")
        }
        #expect(contract.violations() == [])
    }
}
