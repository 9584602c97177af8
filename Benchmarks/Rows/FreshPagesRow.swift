import SpoolLibc

/// The cost of writing 1 GiB to a new file, by the size of a write. No program is compared.
///
/// It explains the rows of misses. A guest may return free memory to its host (free page
/// reporting). Then large writes take blocks of pages that the host has to find again, with a fault
/// each, and small writes take pages that never left. The same bytes cost up to ten times as much,
/// independently of the cache.
struct FreshPagesRow: Row {
    let name = "fresh-pages"
    let ours = "kernel"

    private static let rounds = 3
    private static let sizes = [32 * 1024, 128 * 1024, 1024 * 1024]

    func run(on bench: Workbench) throws -> [Measure] {
        var measures = Self.sizes.map { Measure("write-\($0 >> 10)k", "s CPU/GiB") }
        for _ in 0..<(bench.options.rounds ?? Self.rounds) {
            for (index, size) in Self.sizes.enumerated() {
                measures[index].add(try Self.write(by: size, to: bench.newDirectory()), of: ours)
            }
        }
        return measures
    }

    private static func write(by size: Int, to path: String) throws -> Double {
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw BenchmarkError.system("open \(path)") }
        defer {
            close(descriptor)
            unlink(path)
        }
        guard ftruncate(descriptor, off_t(Workbench.gibibyte)) == 0 else { throw BenchmarkError.system("ftruncate") }
        let bytes = [UInt8](repeating: 1, count: size)
        let start = ownCPUNanoseconds()
        for offset in stride(from: 0, to: Int(Workbench.gibibyte), by: size) {
            guard pwrite(descriptor, bytes, size, off_t(offset)) == size else { throw BenchmarkError.system("pwrite") }
        }
        return Double(ownCPUNanoseconds() - start) / 1e9
    }
}
