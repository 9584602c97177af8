import SpoolLibc

/// Measures the program beside its peers and prints the results.
@main
enum SpoolBenchmarks {
    static func main() {
        do {
            let options = try Options(Array(CommandLine.arguments.dropFirst()))
            if let crowd = options.crowd { try crowd.run(options.crowdOptions) }
            if let bytes = options.playedBytes {
                try VirtualPlay(bytes: bytes, directory: options.directory).run()
                exit(0)
            }
            exit(try run(options))
        } catch {
            say("\(error)")
            exit(2)
        }
    }

    /// Runs the selected rows, and returns the exit code.
    private static func run(_ options: Options) throws -> Int32 {
        let names = allRows().map(\.name)
        let rows = allRows().filter { options.includes($0.name, of: names) && (options.curves == nil || $0 is any CurveRow) }
        if options.listsRows {
            for row in rows { print(row.name) }
            return 0
        }
        let thresholds = try options.thresholds.map(readThresholds)
        let bench = try Workbench(options)
        defer { bench.close() }
        let interruption = try Interruption(deleting: bench.directory)
        defer { withExtendedLifetime(interruption) {} }

        let facts = Machine.facts(directory: bench.directory)
        for (name, value) in facts { print("\(name): \(value)") }
        // Flushes every stream, because `stdout` itself is a mutable global for Swift.
        fflush(nil)
        let results = rows.map { result(of: $0, on: bench) }
        print("load average at the end: \(Machine.load())\n")
        print(Table.text(of: results))
        for (name, reason) in bench.leftOut.sorted(by: { $0.key < $1.key }) { print("left out: \(name): \(reason)") }
        if let path = options.json { try writeFile(JSON.text(of: results, machine: facts), to: path) }
        if let path = options.curves {
            let drawn = zip(rows, results).compactMap { row, result in (row as? any CurveRow).map { ($0, result) } }
            try writeFile(CurveDrawing.text(of: drawn, machine: facts), to: path)
        }

        guard let thresholds else { return results.contains { $0.failure != nil } ? 2 : 0 }
        let violations =
            thresholds.violations(of: results, without: Set(bench.leftOut.keys))
            + results.compactMap { row in row.failure.map { "\(row.name): \($0)" } }
        print(violations.isEmpty ? "\nevery threshold holds" : "\n" + violations.map { "DOES NOT HOLD: " + $0 }.joined(separator: "\n"))
        return violations.isEmpty ? 0 : 1
    }

    /// Runs a row. A row that fails does not stop the others.
    private static func result(of row: any Row, on bench: Workbench) -> RowResult {
        let start = nanoseconds()
        do {
            let measures = try row.run(on: bench)
            say("\(row.name): \((nanoseconds() - start) / 1_000_000_000) s, load average \(Machine.load())")
            return RowResult(name: row.name, ours: row.ours, measures: measures)
        } catch {
            say("\(row.name): \(error)")
            return RowResult(name: row.name, ours: row.ours, measures: [], failure: "\(error)")
        }
    }

    private static func readThresholds(_ path: String) throws -> Thresholds {
        guard let text = readSmallFile(path) else { throw BenchmarkError.system("read \(path)") }
        return try Thresholds(text)
    }

    /// Progress goes to standard error, results to standard output.
    private static func say(_ text: String) {
        let line = Array((text + "\n").utf8)
        write(2, line, line.count)
    }
}
