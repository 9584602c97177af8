/// The memory of one play through the AVFoundation door, for a file of 20 GiB and one of 200 MiB.
///
/// Each is a separate process, see `VirtualPlay`.
struct PlayMemoryRow: Row {
    let name = "play-memory"
    let ours = "20-gib"

    /// The limit: the buffer pool of 16 MiB, the pieces that the double keeps to detect changes,
    /// and program, index and simulator. A third of it is reserve.
    private static let boundMiB = 48.0

    func run(on bench: Workbench) throws -> [Measure] {
        var resident = Measure("resident", "MiB", bound: Self.boundMiB)
        for (label, bytes) in [("200-mib", 200 * Workbench.mebibyte), (ours, 20 * Workbench.gibibyte)] {
            resident.add(try play(bytes, bench) / Double(Workbench.mebibyte), of: label)
        }
        return [resident]
    }

    private func play(_ bytes: Int64, _ bench: Workbench) throws -> Double {
        guard let path = ownPath() else { throw BenchmarkError("/proc/self/exe can't be read") }
        let directory = bench.newDirectory(), log = directory + ".log"
        let words = [path, "--play", String(bytes), "--directory", directory]
        guard let answer = output(of: words, logPath: log), let peak = Double(answer.split(separator: "\n").last ?? "") else {
            throw BenchmarkError("the play of \(bytes) bytes failed: \(readSmallFile(log) ?? "")")
        }
        return peak
    }
}
