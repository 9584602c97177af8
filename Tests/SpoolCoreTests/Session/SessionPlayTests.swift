import SpoolCore
import Testing

/// Tests when stored media whose origin demands a check are confirmed: once for a play, and without
/// a long wait (`CachePolicy.explicit`).
@Suite struct SessionPlayTests {
    private static let fields: HTTPFields = ["ETag": "\"v1\"", "Content-Type": "audio/mpeg", "Cache-Control": "no-cache"]
    private let rules = UseRules(policy: .explicit)

    /// A session with a complete song that its origin wants confirmed.
    private func song(_ fields: HTTPFields = SessionPlayTests.fields) -> SessionProbe {
        let probe = SessionProbe()
        probe.open(length: 1000, stored: [0...999], fields: fields)
        return probe
    }

    /// Plays from `start`, with a 304 if the origin is asked, and leaves.
    ///
    /// - Returns: Whether the origin was asked.
    private func play(_ probe: SessionProbe, from start: Int64 = 0, location: SourceLocation = #_sourceLocation) -> Bool {
        let before = probe.startedIDs.count
        let reader = probe.join(start, rules: rules)
        _ = probe.prepare(reader)
        let isAsked = probe.startedIDs.count > before
        if isAsked, let fetch = probe.startedIDs.last { probe.head(fetch, 304, Self.fields) }
        #expect(probe.read(reader) == 1000 - start, sourceLocation: location)
        probe.leave(reader)
        return isAsked
    }

    @Test func `one play costs one question, whatever the number of its requests`() {
        let probe = song()
        #expect(play(probe))
        for start: Int64 in [0, 500, 900, 0] {
            probe.pass(.seconds(1))
            #expect(!play(probe, from: start))
        }
        #expect(probe.starts.count == 1 && probe.starts[0].revalidation?.entityTag == "\"v1\"")
    }

    @Test func `a reader of the first byte begins a play after two seconds without readers, and any reader after ten minutes`() {
        let probe = song()
        #expect(play(probe))
        probe.pass(.seconds(3))
        #expect(!play(probe, from: 500))
        probe.pass(.seconds(3))
        #expect(play(probe))
        probe.pass(.seconds(600))
        #expect(play(probe, from: 500))
    }

    @Test func `media without a demand are used unasked`() {
        for control in ["", "max-age=60", "no-cache=\"set-cookie\"", "must-revalidate", "max-age=3600, must-revalidate", "public"] {
            let probe = song(["ETag": "\"v1\"", "Content-Type": "audio/mpeg", "Cache-Control": control, "Pragma": "no-cache"])
            #expect(!play(probe), "\(control)")
        }
    }

    @Test(arguments: ["no-cache", "max-age=0", "max-age=59", "max-age=120, must-revalidate", "max-age=120, proxy-revalidate"])
    func `each form of a demand is obeyed`(_ control: String) {
        #expect(play(song(["ETag": "\"v1\"", "Content-Type": "audio/mpeg", "Cache-Control": control])))
    }

    @Test func `an expiry that is not later than the date is a demand`() {
        let date = HTTPDate.format(Timestamp(seconds: 1000))
        #expect(play(song(["ETag": "\"v1\"", "Content-Type": "audio/mpeg", "Date": date, "Expires": date])))
        #expect(play(song(["ETag": "\"v1\"", "Content-Type": "audio/mpeg", "Date": date, "Expires": "0"])))
    }

    @Test func `pictures follow the rules of HTTP caching`() {
        #expect(play(song(["ETag": "\"v1\"", "Content-Type": "image/png"])))
        #expect(play(song(["ETag": "\"v1\""])))
    }

    @Test func `stored bytes play after a second without an answer, and the answer counts for the next play`() {
        let probe = song()
        let reader = probe.join(0, rules: rules)
        #expect(probe.prepare(reader) == .wait)
        probe.pass(.milliseconds(999))
        #expect(probe.woken == [])
        probe.pass(.milliseconds(1))
        #expect(probe.woken == [reader])
        #expect(probe.read(reader, upTo: 500) == 500)
        // The reader keeps its version.
        probe.full(probe.startedIDs[0], length: 700, fields: ["ETag": "\"v2\"", "Content-Type": "audio/mpeg"])
        #expect(probe.read(reader) == 500)
        #expect(probe.failure(reader) == nil && probe.changes.count == 1)
    }

    @Test func `an origin that fails is not asked again for the same play`() {
        let probe = song()
        let reader = probe.join(0, rules: rules)
        _ = probe.prepare(reader)
        probe.finish(probe.startedIDs[0], .unreachable("away"))
        #expect(probe.read(reader) == 1000)
        probe.leave(reader)
        probe.pass(.seconds(1))
        #expect(!play(probe))
    }

    @Test func `where no question is permitted, stored bytes are used at once`() {
        let probe = song()
        var silent = rules
        silent.longestQuestion = nil
        let reader = probe.join(0, rules: silent)
        #expect(probe.read(reader) == 1000)
        probe.leave(reader)
        let stored = probe.join(0, onlyStored: true, rules: rules)
        #expect(probe.read(stored) == 1000)
        #expect(probe.starts == [])
    }

    @Test func `a finished download is used unasked`() {
        let probe = song(["ETag": "\"v1\"", "Content-Type": "image/png", "Cache-Control": "no-cache"])
        probe.machine.noteDownload(true)
        #expect(!play(probe))
    }

    @Test func `a part of a live stream is confirmed if it is older than what its playlist shows`() {
        let probe = song(["ETag": "\"v1\"", "Content-Type": "video/mp2t", "Cache-Control": "max-age=3600"])
        var part = rules
        part.part = PresentationPart(isLive: true, confirmedSince: probe.wallNow)
        let reader = probe.join(0, rules: part)
        #expect(probe.prepare(reader) == .wait)
        probe.head(probe.startedIDs[0], 304, ["ETag": "\"v1\""])
        #expect(probe.read(reader) == 1000)
        for _ in 0..<50 { #expect(probe.read(probe.join(0, rules: part)) == 1000) }
        #expect(probe.starts.count == 1)
    }

    @Test func `a confirmed manifest confirms its parts, but no key`() {
        for (length, isAsked) in [(1000 as Int64, false), (16, true)] {
            let probe = SessionProbe()
            probe.open(length: length, stored: [0...(length - 1)], fields: ["ETag": "\"v1\"", "Cache-Control": "no-cache"])
            var part = rules
            part.part = PresentationPart(isLive: false, confirmedSince: Timestamp(nanoseconds: .min))
            _ = probe.prepare(probe.join(0, rules: part))
            #expect(probe.starts.isEmpty != isAsked)
        }
    }

    @Test func `a body without length and tag that still runs answers a new request by a new request`() throws {
        let probe = SessionProbe()
        let first = probe.join(0, rules: rules)
        probe.openEmpty()
        probe.step(first)
        probe.full(probe.startedIDs[0], length: nil, fields: ["Content-Type": "audio/mpeg"])
        probe.body(probe.startedIDs[0], 1000)
        let second = probe.join(0, rules: rules)
        #expect(probe.prepare(second) == .wait)
        #expect(probe.starts.count == 2)
        let fetch = try #require(probe.startedIDs.last)
        probe.full(fetch, length: nil, fields: ["Content-Type": "audio/mpeg"])
        probe.body(fetch, 10)
        #expect(probe.read(second) == 10 && probe.read(first) == 1000)
    }

    @Test func `readers of a fetch that another connection of the cache got refused ask once more`() {
        let probe = SessionProbe()
        let reader = probe.join(0, rules: rules)
        probe.openEmpty()
        probe.step(reader)
        #expect(probe.machine.mayAskAgain(probe.startedIDs[0]))
        probe.refuseBesideOwn(probe.startedIDs[0])
        #expect(probe.starts.count == 1 && probe.failure(reader) == nil)
        probe.pass(.milliseconds(200))
        #expect(probe.starts.count == 2)
        #expect(!probe.machine.mayAskAgain(probe.startedIDs[1]))
    }
}
