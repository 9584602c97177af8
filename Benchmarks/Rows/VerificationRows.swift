import SpoolSystem

/// CRC32C of bytes in the CPU's cache, one block of 64 KiB at a time, in this process: the least
/// cost of checking.
struct ChecksumRow: Row {
    let name = "crc32c"
    let ours = "fastest"

    private static let rounds = 10
    private static let blockBytes = 64 * 1024
    private static let blocks = 4096

    func run(on bench: Workbench) throws -> [Measure] {
        var time = Measure("time", "s CPU/GiB")
        let block = [UInt8](unsafeUninitializedCapacity: Self.blockBytes) { buffer, count in
            for index in buffer.indices { buffer[index] = UInt8(truncatingIfNeeded: index &* 31) }
            count = Self.blockBytes
        }
        for round in 0...(bench.options.rounds ?? Self.rounds) {
            let fastest = Self.secondsPerGibibyte(block) { CRC32C.of($1, after: $0) }
            let others = CRC32C.methods.dropLast().map { method in
                (method, Self.secondsPerGibibyte(block) { CRC32C.of($1, after: $0, by: method) })
            }
            guard round > 0 else { continue }
            time.add(fastest, of: ours)
            for (method, seconds) in others { time.add(seconds, of: "\(method)") }
        }
        return [time]
    }

    private static func secondsPerGibibyte(_ block: [UInt8], _ check: (UInt32, UnsafeRawBufferPointer) -> UInt32) -> Double {
        var sum: UInt32 = 0
        let start = ownCPUNanoseconds()
        for _ in 0..<blocks { sum = block.withUnsafeBytes { check(sum, $0) } }
        let used = ownCPUNanoseconds() - start
        // The result is used, so that no compiler can remove the work.
        precondition(sum != 1)
        return Double(used) / 1e9 / (Double(blocks * blockBytes) / Double(Workbench.gibibyte))
    }
}

/// The first pass over a stored resource after the program's start, which verifies every block,
/// compared with the second.
struct FirstPassRow: Row {
    let name = "hit-first-pass"
    let ours = "first"

    private static let rounds = 10

    func run(on bench: Workbench) throws -> [Measure] {
        var cpu = Measure("cpu", "s/GiB"), all = Measure("cpu-all", "s/GiB"), wall = Measure("wall", "s/GiB")
        guard bench.options.spool != nil else { return [cpu, all, wall] }
        let source = try bench.media(), directory = bench.newDirectory()
        let filling = try bench.spool(directory)
        try bench.fetchWhole(filling, source, isChecked: true)
        filling.stop()
        for round in 0...(bench.options.rounds ?? Self.rounds) {
            let server = try bench.spool(directory)
            defer { server.stop() }
            for pass in [ours, "second"] {
                let load = try LoadGenerator(port: server.port, connections: 1)
                let usage = server.usage, before = usage.cpuNanoseconds
                let result = try load.run(count: 1, source: source) { _ in
                    LoadRequest(target: server.target(source.name), range: nil, expected: 0..<source.size, isChecked: round == 0)
                }
                let used = usage.cpuNanoseconds - before
                guard round > 0 else { continue }
                let gibibytes = Double(source.size) / Double(Workbench.gibibyte)
                cpu.add(Double(used) / 1e9 / gibibytes, of: pass)
                all.add(Double(used + result.ownCPUNanoseconds) / 1e9 / gibibytes, of: pass)
                wall.add(Double(result.wallNanoseconds) / 1e9 / gibibytes, of: pass)
            }
        }
        return [cpu, all, wall]
    }
}
