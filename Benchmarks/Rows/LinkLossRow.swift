/// A client that does not take a film of 5 MiB to its end, on the line of `link-seeks`: what crosses
/// the line, and how much of it is neither stored nor delivered.
struct LinkLossRow: Row {
    /// What the client does.
    enum Visit: String {
        /// It takes 800 KiB and leaves.
        case leave
        /// It does the same after a pause of two seconds, and seeks back.
        case pause
        /// It takes 200 KiB at each of ten places.
        case wander
    }

    let visit: Visit
    var name: String { "link-\(visit.rawValue)" }

    private static let rounds = 10
    private static let mebibytes = 5
    private static let takenBytes: Int64 = 800 << 10, placeBytes: Int64 = 200 << 10, places = 10
    private static let receiveBufferBytes: Int32 = 64 * 1024
    private static let pauseMilliseconds: UInt32 = 2000
    /// A fetch without readers waits a second for another one, then closes.
    private static let settleMilliseconds: UInt32 = 1500

    func run(on bench: Workbench) throws -> [Measure] {
        guard let line = try bench.line() else { return [] }
        defer { line.close() }
        let origin = try bench.origin(behind: line)
        defer { origin.stop() }
        guard let server = try bench.emptySpool(before: origin) else { return [] }
        defer { server.stop() }
        var crossed = Measure("crossed", "MiB"), lost = Measure("lost", "MiB")
        let source = try bench.sparse(mebibytes: Self.mebibytes)
        for round in 0...(bench.options.rounds ?? Self.rounds) {
            let target = server.target(source.name + "?visit=\(round)", host: SlowLine.farAddress)
            let before = try server.fetchedBytes()
            _ = line.takeCarriedBytes()
            line.forget()
            try come(round, to: target, source, server.port)
            pause(milliseconds: Self.settleMilliseconds)
            let carried = line.takeCarriedBytes(), fetched = try server.fetchedBytes() - before
            guard round > 0 else { continue }
            crossed.add(Double(carried) / Double(Workbench.mebibyte), of: server.name)
            lost.add(Double(carried - fetched) / Double(Workbench.mebibyte), of: server.name)
        }
        return [crossed, lost]
    }

    private func come(_ round: Int, to target: String, _ source: SourceFile, _ port: UInt16) throws {
        func take(_ bytes: Int64, from offset: Int64, thenWait milliseconds: UInt32 = 0) throws {
            let connection = try LoadConnection(port: port, receiveBufferBytes: Self.receiveBufferBytes)
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 10, alignment: 4096)
            defer { buffer.deallocate() }
            let range = offset..<source.size
            try connection.begin(LoadRequest(target: target, range: range, expected: range, isChecked: true, isOpenEnded: true))
            while connection.receivedBytes < bytes {
                let before = connection.receivedBytes
                _ = try connection.receive(into: buffer, source: source)
                if connection.receivedBytes == before { pause(milliseconds: 1) }
            }
            // The connection closes at the end of this function.
            withExtendedLifetime(connection) { pause(milliseconds: milliseconds) }
        }
        switch visit {
        case .leave: try take(Self.takenBytes, from: 0)
        case .pause:
            try take(Self.takenBytes, from: 0, thenWait: Self.pauseMilliseconds)
            try take(Self.placeBytes, from: 0)
        case .wander:
            var random = SplitMix(seed: UInt64(round))
            for _ in 0..<Self.places {
                try take(Self.placeBytes, from: Int64.random(in: 0..<source.size - 2 * Self.placeBytes, using: &random))
            }
        }
    }
}
