import SpoolCore
import SpoolMedia
import Testing

/// The rules that hold for the plans of all containers.
struct PlannerTests {
    @Test(arguments: Samples.all)
    func `the plan does not depend on the sizes of the pieces`(sample: Samples.File) throws {
        let whole = try MediaFile(sample.bytes).plan(seconds: 10)
        #expect(whole.plan != nil)
        for piece in [17, 1000] {
            let cut = try MediaFile(sample.bytes).plan(seconds: 10, limits: .short, piece: piece)
            #expect(cut.plan == whole.plan, "\(sample.name) in pieces of \(piece)")
        }
    }

    @Test(arguments: Samples.all)
    func `a file of unknown length is planned too`(sample: Samples.File) throws {
        let known = try MediaFile(sample.bytes).plan(seconds: 10)
        let unknown = try MediaFile(sample.bytes).plan(seconds: 10, isLengthKnown: false)
        let first = try #require(known.plan?.ranges.ranges.first)
        #expect(unknown.plan?.ranges.contains(first) == true, "\(sample.name)")
    }

    @Test(arguments: Samples.all)
    func `more seconds take at least the bytes of fewer`(sample: Samples.File) throws {
        var before = ByteRangeSet()
        for seconds in [0, 1, 5, 20, 100, 1e9] {
            let plan = try #require(try MediaFile(sample.bytes).plan(seconds: seconds).plan)
            #expect(before.subtracting(plan.ranges).isEmpty, "\(sample.name), \(seconds) s")
            before = plan.ranges
        }
        #expect(before.upperBound == Int64(sample.bytes.count))
    }

    @Test func `seconds that are no time count as none`() throws {
        let file = try #require(Samples.all.first).bytes
        let none = try MediaFile(file).plan(seconds: 0).plan
        for seconds in [-1, -Double.infinity, .nan] { #expect(try MediaFile(file).plan(seconds: seconds).plan == none) }
    }

    @Test(arguments: [[], zeros(11), zeros(5000), Array("<!DOCTYPE html><html><body>Not found</body></html>".utf8)])
    func `other files are not readable, with a reason`(bytes: [UInt8]) throws {
        let run = try MediaFile(bytes).plan(seconds: 10)
        #expect(run.plan == nil)
        #expect(run.reason?.isEmpty == false)
    }

    @Test func `a file whose structure takes more memory than the bound is not readable`() throws {
        let file = MovieModel().headFirst()
        var limits = MediaLimits.short
        for (kept, isReadable) in [(1000, false), (file.count, true)] {
            limits.keptBytes = Int64(kept)
            let run = try MediaFile(file).plan(seconds: 10, limits: limits)
            #expect((run.plan != nil) == isReadable && (run.reason?.contains("1000 bytes of memory") == true) != isReadable)
        }
    }

    @Test func `a step requests no byte that has come`() {
        var planner = MediaPlanner(seconds: 10, length: 100_000)
        planner.received(zeros(1000), at: 5000)
        #expect(planner.next() == .read(ByteRange(lower: 0, upper: 5000)))
    }

    @Test func `the same step comes again until its bytes have come`() {
        var planner = MediaPlanner(seconds: 10, length: 100_000)
        let first = planner.next()
        #expect(first == .read(ByteRange(lower: 0, upper: 16_384)))
        #expect(planner.next() == first)
        planner.received([], at: 0)
        planner.received([1, 2, 3], at: -1)
        #expect(planner.next() == first)
    }
}

/// One small file of each container, about 30 seconds long.
enum Samples {
    struct File: CustomTestStringConvertible {
        var name: String
        var bytes: [UInt8]

        var testDescription: String { name }
    }

    static let all: [File] = [
        File(name: "mp4, index first", bytes: MovieModel().headFirst()),
        File(name: "mp4, index last", bytes: MovieModel(tracks: [TrackModel(), TrackModel(id: 2, handler: "soun")]).headLast()),
        File(name: "fragmented mp4", bytes: FragmentModel(hasDurations: true).file),
        File(name: "fragmented mp4 with sizes", bytes: FragmentModel(hasSizes: true).file),
        File(
            name: "mp4 with a segment index",
            bytes: FragmentModel().head + FragmentModel().index(seconds: 30) + (0..<30).flatMap(FragmentModel().fragment)),
        File(name: "mp3", bytes: MP3Model.tag(bytes: 100) + (0..<1200).flatMap { _ in MP3Model.frame() }),
        File(name: "aac", bytes: (0..<1300).flatMap { ADTSModel.frame(bytes: 100 + $0 % 50) }),
        File(name: "flac", bytes: FLACModel.stream(frames: (0..<330).map { FLACModel.frame($0, bytes: 300) }, seekPoints: 3)),
        File(name: "wav", bytes: Array(WaveModel.file(seconds: 30).prefix(44)) + zeros(30 * WaveModel.bytesPerSecond)),
        File(name: "opus", bytes: OggModel.file(head: OggModel.opusHead, rate: 48_000, skipped: 312, seconds: 30)),
        File(name: "vorbis", bytes: OggModel.file(head: OggModel.vorbisHead, rate: 44_100, seconds: 30)),
        File(name: "matroska, cues last", bytes: MatroskaModel().file),
        File(name: "matroska, cues first", bytes: MatroskaModel(cues: .head).file),
        File(name: "live matroska", bytes: MatroskaModel(isLive: true, cues: .none).file),
    ]
}
