import SpoolCore
import Testing

/// Tests readers of the last bytes of a resource that is not known yet.
@Suite struct SessionSuffixTests {
    static let tags: [HTTPFields] = [["ETag": "\"v1\""], ["ETag": "W/\"v1\""], [:]]

    /// A reader of the last 500 bytes, which waits for its first byte, and the fetch that it started.
    private func waiting(_ mode: ReadMode = .automatic) -> (probe: SessionProbe, reader: ReaderID, fetch: FetchID) {
        let probe = SessionProbe()
        var rules = UseRules()
        rules.mode = mode
        let reader = probe.join(0, rules: rules, takesAnyStatus: true, suffix: 500)
        probe.openEmpty()
        #expect(probe.prepare(reader, withFirstByte: true) == .wait)
        #expect(probe.starts.map(\.suffix) == [500])
        return (probe, reader, probe.startedIDs[0])
    }

    /// Reads the last bytes, as a door does once it knows the length.
    private func readLastBytes(_ probe: SessionProbe, _ reader: ReaderID, length: Int64, bring: () -> Void) -> Int64 {
        guard case .ready(_, let representation) = probe.prepare(reader, withFirstByte: true) else { return -1 }
        #expect(representation.length == length)
        probe.move(reader, to: max(0, length - 500), end: length)
        _ = probe.step(reader, max: 1)
        bring()
        // A response of its own has another generation than the version.
        _ = probe.prepare(reader, withFirstByte: true)
        return probe.read(reader)
    }

    @Test(arguments: tags, [ReadMode.automatic, .doNotStore])
    func `a part serves its reader, which needs no second request`(fields: HTTPFields, mode: ReadMode) {
        let (probe, reader, fetch) = waiting(mode)
        probe.partial(fetch, 99_500, 100_000, total: 100_000, fields: fields)
        #expect(probe.woken == [], "the head leaves with the first byte")
        probe.body(fetch, 100)
        #expect(probe.woken == [reader])
        #expect(readLastBytes(probe, reader, length: 100_000) { probe.body(fetch, 400) } == 500)
        #expect(probe.starts.count == 1)
    }

    /// The reader waited for ever: no event had placed it, so it had no window, and the fetch was not
    /// needed.
    @Test(arguments: tags, [ReadMode.automatic, .doNotStore])
    func `a whole in place of the part serves its last bytes`(fields: HTTPFields, mode: ReadMode) {
        let (probe, reader, fetch) = waiting(mode)
        probe.full(fetch, length: 100_000, fields: fields)
        #expect(probe.woken == [reader])
        #expect(readLastBytes(probe, reader, length: 100_000) { probe.body(fetch, 100_000) } == 500)
        #expect(probe.starts.count == 1, "an origin without ranges is asked once")
    }

    @Test(arguments: tags) func `an origin that serves other ranges is asked for them`(fields: HTTPFields) {
        let (probe, reader, fetch) = waiting()
        var fields = fields
        fields["Accept-Ranges"] = "bytes"
        probe.full(fetch, length: 100 * MiB, fields: fields)
        let count = readLastBytes(probe, reader, length: 100 * MiB) {
            #expect(probe.starts.map(\.lower) == [0, 100 * MiB - 500])
            probe.partial(probe.startedIDs[1], 100 * MiB - 500, 100 * MiB, total: 100 * MiB, fields: fields)
            probe.body(probe.startedIDs[1], 500)
        }
        #expect(count == 500)
    }

    @Test(arguments: tags, [400, nil] as [Int64?])
    func `a whole that is shorter than the part, or has no length, is read from 0`(fields: HTTPFields, length: Int64?) {
        let (probe, reader, fetch) = waiting()
        probe.full(fetch, length: length, fields: fields)
        probe.body(fetch, 400)
        #expect(probe.woken == [reader])
        let preparation = probe.prepare(reader, withFirstByte: true)
        guard case .ready = preparation else { return unexpected(preparation) }
        #expect(probe.read(reader) == 400)
        #expect(probe.starts.count == 1)
    }

    @Test func `a 416 is asked again without a range`() {
        let (probe, reader, fetch) = waiting()
        probe.head(fetch, 416, [:])
        #expect(probe.starts.map(\.isPlain) == [false, true])
        probe.full(probe.startedIDs[1], length: 100_000)
        #expect(readLastBytes(probe, reader, length: 100_000) { probe.body(probe.startedIDs[1], 100_000) } == 500)
    }

    @Test(arguments: [400, 403, 404, 410, 429, 500, 503], [[:], ["Cache-Control": "max-age=60"]] as [HTTPFields])
    func `a refusal goes to the reader with its status and body`(status: Int, fields: HTTPFields) {
        let (probe, reader, fetch) = waiting()
        var fields = fields
        fields["Content-Length"] = "7"
        probe.head(fetch, status, fields)
        probe.body(fetch, 7)
        #expect(probe.woken == [reader])
        let preparation = probe.prepare(reader, withFirstByte: true)
        guard case .ready(_, let representation) = preparation else { return unexpected(preparation) }
        #expect(representation.status == status)
        probe.move(reader, to: 0)
        #expect(probe.read(reader) == 7)
    }

    /// A reader of the last bytes joins while a request from 0 on runs, and takes no request of its
    /// own.
    @Test(arguments: tags) func `a reader beside the discovery of another is placed with it`(fields: HTTPFields) {
        let probe = SessionProbe()
        let first = probe.join(0)
        probe.openEmpty()
        probe.step(first)
        let reader = probe.join(0, takesAnyStatus: true, suffix: 500)
        #expect(probe.prepare(reader, withFirstByte: true) == .wait)
        probe.full(probe.startedIDs[0], length: 100_000, fields: fields)
        #expect(probe.woken.contains(reader))
        probe.body(probe.startedIDs[0], 50_000)
        #expect(readLastBytes(probe, reader, length: 100_000) { probe.body(probe.startedIDs[0], 50_000) } == 500)
        #expect(probe.starts.count == 1)
    }
}
