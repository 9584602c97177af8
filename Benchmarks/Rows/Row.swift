import SpoolStore

/// One question that the benchmarks answer.
protocol Row {
    /// The name in the table, in thresholds and for `--only`: lower case, no space.
    var name: String { get }
    /// The program whose peers the others are.
    var ours: String { get }
    func run(on bench: Workbench) throws -> [Measure]
}

extension Row {
    var ours: String { "spool" }
}

/// Returns every row, in the order of execution, quick ones first.
func allRows() -> [any Row] { plainRows() + encryptionRows() + curveRows() }

private func plainRows() -> [any Row] {
    [10, 100, 1000, 10_000, 100_000, 1_000_000].map { IntervalRow(count: $0, order: .random) }
        + [10, 1000, 10_000, 100_000].map { IntervalRow(count: $0, order: .mostlySequential) }
        + [RangeableRow()]
        + [
            ChecksumRow(),
            FreshPagesRow(),
            HitRangeRow(label: "64k", rangeBytes: 64 * 1024, connections: 1, requests: 6000),
            HitRangeRow(label: "64k", rangeBytes: 64 * 1024, connections: 16, requests: 8000, peers: .all),
            HitRangeRow(label: "64k", rangeBytes: 64 * 1024, connections: 128, requests: 8000),
            HitRangeRow(label: "64k", rangeBytes: 64 * 1024, connections: 1000, requests: 10_000),
            HitRangeRow(label: "64k", rangeBytes: 64 * 1024, connections: 128, requests: 8000, peers: .loops(2)),
            HitRangeRow(label: "4k", rangeBytes: 4 * 1024, connections: 1, requests: 8000, peers: .all),
            HitRangeRow(label: "4k", rangeBytes: 4 * 1024, connections: 128, requests: 40_000),
            HitSequentialRow(),
            FirstPassRow(),
            ManifestRow(),
            FirstByteHitRow(),
            FirstByteMissRow(),
            SeekColdRow(),
            ReaderAndSeekersRow(),
            LinkSeekRow(),
            LinkLossRow(visit: .leave),
            LinkLossRow(visit: .pause),
            LinkLossRow(visit: .wander),
            LinkPlayerRow(congestion: .cubic),
            LinkPlayerRow(congestion: .bbr),
            RangeSizeRow(),
            MissRow(),
            DownloadRow(),
            CancelRow(),
            HerdRow(),
            StartRow(resources: 10),
            StartRow(resources: 1000),
            StartRow(resources: 100_000),
            MemoryStoredRow(),
            MemoryColdRow(),
            MemoryStoppedRow(isOverHTTP2: false),
            MemoryStoppedRow(isOverHTTP2: true),
            PlayMemoryRow(),
            CrowdRow(crowd: .silent, count: 10_000, boundMiB: 32 + 10_000 * 4 / 1024),
            CrowdRow(crowd: .slowReaders, count: 1000, boundMiB: 32 + 1000 * 16 / 1024),
            CrowdRow(crowd: .slowOrigin, count: 96, boundMiB: 32 + 16 + 64 / 16),
        ]
}

private func curveRows() -> [any CurveRow] {
    [RequestsCurve(), ConnectionsCurve(), ResourcesCurve(), SpansCurve(), SizeCurve()]
}

private func encryptionRows() -> [any Row] {
    CipherAlgorithm.allCases.map { EncryptedReadRow(algorithm: $0) } + CipherAlgorithm.allCases.map { EncryptedHitRow(algorithm: $0) }
}
