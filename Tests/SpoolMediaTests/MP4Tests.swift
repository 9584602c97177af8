import SpoolCore
import SpoolMedia
import Testing

/// The plan of the first seconds of MP4 files.
struct MP4Tests {
    private let sound = TrackModel(id: 2, handler: "soun", scale: 48_000, sampleTicks: 1920, sampleBytes: 10)

    private func movie() -> MovieModel { MovieModel(tracks: [TrackModel(), sound]) }

    @Test func `the plan has the index at the head and the samples of all tracks`() throws {
        let movie = movie()
        let file = movie.headFirst()
        let run = try MediaFile(file).plan(seconds: 10)
        let start = file.count - 30 * movie.secondBytes
        // Ten seconds, and half a second of margin of each track.
        let last = Int64(start + 10 * movie.secondBytes)
        #expect(run.plan?.container == .mp4)
        #expect(run.ranges == [0..<last + 13 * 100, last + 2500..<last + 2500 + 13 * 10])
        #expect(run.plan?.reachesEnd == false)
    }

    @Test func `an index at the tail is found without reading the media`() throws {
        let movie = movie()
        let file = movie.headLast()
        let run = try MediaFile(file).plan(seconds: 10, limits: .short)
        let moov = movie.movie(mediaAt: 0).count
        #expect(run.ranges.last == Int64(file.count - moov)..<Int64(file.count))
        #expect(run.read.totalBytes <= Int64(moov) + 256)
        #expect(run.ranges.first?.lowerBound == 0)
    }

    @Test func `boxes behind the media belong to the plan`() throws {
        let file = movie().headFirst(after: box("free", zeros(100_000)) + box("udta", zeros(30)))
        let run = try MediaFile(file).plan(seconds: 1, limits: .short)
        let last = Int64(file.count - 38), free = last - 100_008
        #expect(run.ranges.suffix(2) == [free..<free + 8, last..<last + 38])
    }

    @Test func `bytes behind the media that are no box change nothing`() throws {
        let file = movie().headFirst(after: big(3, 4) + Array("junk".utf8) + zeros(40))
        #expect(try MediaFile(file).plan(seconds: 1).plan != nil)
    }

    @Test func `a large box before the index is skipped`() throws {
        let model = movie()
        let large = box("uuid", zeros(200_000))
        let file = MovieModel.fileType + large + model.movie(mediaAt: MovieModel.fileType.count + large.count)
        let run = try MediaFile(file).plan(seconds: 1)
        #expect(run.plan.map { $0.ranges.totalBytes < 100_000 } == true)
    }

    @Test func `all media are planned when the file is shorter than the seconds`() throws {
        let run = try MediaFile(movie().headFirst()).plan(seconds: 3600)
        #expect(run.plan?.reachesEnd == true)
        #expect(run.ranges == [0..<Int64(movie().headFirst().count)])
    }

    @Test func `samples of one size are counted without a walk`() throws {
        let pcm = TrackModel(handler: "soun", scale: 48_000, sampleTicks: 1, sampleBytes: 4, seconds: 4, hasSizes: false)
        let run = try MediaFile(MovieModel(tracks: [pcm]).headFirst()).plan(seconds: 1)
        #expect(run.plan?.ranges.upperBound == Int64(MovieModel(tracks: [pcm]).headFirst().count - 5 * 96_000))
    }

    @Test func `chunk offsets of eight bytes give the same plan`() throws {
        let long = MovieModel(tracks: [TrackModel(hasLongOffsets: true)]), short = MovieModel()
        let difference = Int64(long.headFirst().count - short.headFirst().count)
        let ends = try [long, short].map { try MediaFile($0.headFirst()).plan(seconds: 5).plan?.ranges.upperBound }
        #expect(ends[0] == ends[1].map { $0 + difference })
    }

    @Test func `an edit list moves the seconds`() throws {
        let edited = MovieModel(tracks: [TrackModel(skipped: 3000)])
        let plain = MovieModel(tracks: [TrackModel()])
        let difference = Int64(edited.headFirst().count - plain.headFirst().count)
        let ends = try [edited, plain].map { try MediaFile($0.headFirst()).plan(seconds: 5).plan?.ranges.upperBound }
        #expect(ends[0] == ends[1].map { $0 + difference + 3 * 2500 })
    }

    @Test func `a track of an odd number of sizes of four bits reaches its end`() throws {
        let track = TrackModel(scale: 3, sampleTicks: 1, sampleBytes: 10, seconds: 1, hasShortSizes: true)
        let run = try MediaFile(MovieModel(tracks: [track]).headFirst()).plan(seconds: 10)
        #expect(run.plan?.reachesEnd == true)
    }

    /// Each read behind the index walked all tables again.
    @Test func `the tables of samples are walked once, also when boxes follow`() throws {
        let file = movie().headFirst(after: (0..<200).flatMap { _ in box("uuid", zeros(100)) })
        var limits = MediaLimits.short
        limits.elements = 600
        let run = try MediaFile(file).plan(seconds: 10, limits: limits)
        #expect(run.reason == nil && run.reads > 200)
    }

    @Test func `a hint track is left out`() throws {
        let hint = TrackModel(id: 2, handler: "hint")
        let movie = MovieModel(tracks: [TrackModel(), hint])
        let run = try MediaFile(movie.headFirst()).plan(seconds: 2)
        #expect(run.ranges.count == 3)
    }

    // MARK: Fragments

    @Test(arguments: [true, false])
    func `fragments are followed to the end of the seconds, with their media`(hasDurations: Bool) throws {
        let model = FragmentModel(hasDurations: hasDurations)
        let run = try MediaFile(model.file).plan(seconds: 10, limits: .short)
        // Ten seconds and the margin take eleven fragments.
        #expect(run.ranges == [0..<Int64(model.head.count + 11 * model.fragmentBytes)])
        #expect(run.plan?.reachesEnd == false)
    }

    /// Ten seconds of files with fragments of two seconds cost twelve.
    @Test(arguments: [true, false], [0, 5000])
    func `of the fragment in which the seconds end, only their samples are needed`(hasIndex: Bool, startsAt: Int) throws {
        let model = FragmentModel(mediaBytes: 40_008, startsAt: startsAt, hasDurations: true, hasSizes: true)
        let head = model.head + (hasIndex ? model.index(seconds: 30) : [])
        let run = try MediaFile(head + (0..<30).flatMap(model.fragment)).plan(seconds: 10, limits: .short)
        // With the margin of half a second, 13 of the 25 samples begin before the end.
        let end = head.count + 10 * model.fragmentBytes + model.moof(10).count + 8 + 13 * model.sampleBytes
        #expect(run.ranges == [0..<Int64(end)])
        #expect(run.plan?.reachesEnd == false)
        #expect(run.read.totalBytes <= Int64(end))
    }

    /// The walk began anew for each read.
    @Test func `of a segment of many fragments each fragment is visited once`() throws {
        let model = FragmentModel(hasDurations: true, hasSizes: true)
        let segment = big(30 * model.fragmentBytes, 4) + big(30 * FragmentModel.scale, 4) + zeros(4)
        let head = model.head + fullBox("sidx", big(1, 4), big(FragmentModel.scale, 4), zeros(8), zeros(2), big(1, 2), segment)
        var limits = MediaLimits.short
        limits.elements = 300
        let run = try MediaFile(head + (0..<30).flatMap(model.fragment)).plan(seconds: 20, limits: limits)
        let end = head.count + 20 * model.fragmentBytes + model.moof(20).count + 8 + 13 * model.sampleBytes
        #expect(run.ranges == [0..<Int64(end)])
    }

    /// The head of a file of two tracks of samples of four bytes, 48 000 a second, and a fragment in
    /// which the second track has its samples behind those of the first.
    private func fragment(of runs: (Int) -> [UInt8]) -> (head: [UInt8], moof: [UInt8]) {
        let tracks = [1, 2].map { TrackModel(id: $0, handler: "soun", scale: 48_000, sampleTicks: 1, hasSizes: false).trak(chunks: []) }
        let extends = [1, 2].map { fullBox("trex", big($0, 4), big(1, 4), big(1, 4), big(4, 4), zeros(4)) }
        let header = fullBox("mvhd", zeros(8), big(1000, 4), zeros(80))
        let moov = box("moov", header, tracks[0], tracks[1], box("mvex", extends[0], extends[1]))
        let moof = box("moof", [1, 2].flatMap { box("traf", fullBox("tfhd", big($0, 4)), runs($0)) })
        return (MovieModel.fileType + moov, moof)
    }

    /// Such a run was cut, so the samples of the next track were sought before their place.
    @Test(arguments: [true, false])
    func `a run of many samples is counted to its end`(hasSizes: Bool) throws {
        func run(_ track: Int, distance: Int) -> [UInt8] {
            let sizes = hasSizes ? (0..<96_000).flatMap { _ in big(4, 4) } : []
            let flags = (track == 1 ? 1 : 0) | (hasSizes ? 0x200 : 0)
            return fullBox("trun", flags: flags, big(96_000, 4), track == 1 ? big(distance, 4) : [], sizes)
        }
        let distance = fragment { run($0, distance: 0) }.moof.count + 8
        let (head, moof) = fragment { run($0, distance: distance) }
        let plan = try MediaFile(head + moof + box("mdat", zeros(2 * 384_000))).plan(seconds: 0.5)
        let media = Int64(head.count + distance)
        #expect(plan.ranges == [0..<media + 192_000, media + 384_000..<media + 576_000])
    }

    /// Sixteen bytes of a run cost 65 536 rounds.
    @Test func `runs that do not list their samples are counted without a walk`() throws {
        let runs = (0..<100).flatMap { _ in fullBox("trun", [0xFF, 0xFF, 0xFF, 0xFF]) }
        let (head, moof) = fragment { _ in runs }
        let run = try MediaFile(head + moof + box("mdat", zeros(100)) + moof).plan(seconds: 80_000)
        #expect(run.plan?.reachesEnd == false)
    }

    @Test func `no seconds take the samples of the margin from the first fragment`() throws {
        let model = FragmentModel(mediaBytes: 40_008, hasDurations: true, hasSizes: true)
        let run = try MediaFile(model.file).plan(seconds: 0, limits: .short)
        #expect(run.ranges == [0..<Int64(model.head.count + model.moof(0).count + 8 + 13 * model.sampleBytes)])
    }

    @Test func `the seconds of a live recording count from its first fragment`() throws {
        let model = FragmentModel(startsAt: 5000)
        let run = try MediaFile(model.file).plan(seconds: 10)
        #expect(run.ranges == [0..<Int64(model.head.count + 11 * model.fragmentBytes)])
    }

    /// ffmpeg writes such files. Only their first seconds were planned.
    @Test func `fragments go on where the samples in the index end`() throws {
        let model = FragmentModel(indexedSeconds: 4)
        let run = try MediaFile(model.file).plan(seconds: 10)
        #expect(run.ranges == [0..<Int64(model.head.count + 7 * model.fragmentBytes)])
        let short = try MediaFile(model.file).plan(seconds: 2)
        #expect(short.plan.map { $0.ranges.totalBytes < Int64(model.head.count) } == true)
    }

    @Test func `a segment index saves the walk`() throws {
        let model = FragmentModel(mediaBytes: 20_000)
        let file = model.head + model.index(seconds: 30) + (0..<30).flatMap(model.fragment)
        let run = try MediaFile(file).plan(seconds: 10, limits: .short)
        let start = file.count - 30 * model.fragmentBytes
        #expect(run.ranges == [0..<Int64(start + 11 * model.fragmentBytes)])
        // The head, and the fragment in which the seconds end.
        #expect(run.read.totalBytes <= Int64(start) + 128 + 128)
    }

    @Test func `an index that ends before the file adds the box at the file's end`() throws {
        let model = FragmentModel()
        let file = model.head + model.index(seconds: 30) + (0..<30).flatMap(model.fragment) + box("mfra", zeros(100))
        let run = try MediaFile(file).plan(seconds: 10)
        #expect(run.ranges.last == Int64(file.count - 16)..<Int64(file.count))
    }

    /// Players found only the first fragment when such an index counted as the whole one.
    @Test func `an index of one fragment before each fragment does not end the plan`() throws {
        let model = FragmentModel()
        let file = model.head + (0..<30).flatMap { model.index(seconds: 1) + model.fragment($0) }
        let run = try MediaFile(file).plan(seconds: 10)
        let step = Int64(model.index(seconds: 1).count + model.fragmentBytes)
        let end = Int64(model.head.count) + 11 * step
        #expect(run.plan?.ranges.contains(ByteRange(lower: 0, upper: end)) == true)
        #expect(run.plan.map { $0.ranges.totalBytes <= end + step } == true)
    }

    // MARK: Broken files

    @Test func `a file without an index is not readable`() throws {
        let run = try MediaFile(MovieModel.fileType + box("mdat", zeros(100))).plan(seconds: 10)
        #expect(run.plan == nil)
        #expect(run.reason?.isEmpty == false)
    }

    @Test func `a file that was cut off is planned up to its end`() throws {
        let whole = movie().headFirst()
        let cut = Array(whole.prefix(whole.count - 20 * movie().secondBytes))
        let run = try MediaFile(cut).plan(seconds: 3600)
        #expect(run.plan?.ranges.upperBound == Int64(cut.count))
    }

    @Test func `an index above the bound is not read`() throws {
        var limits = MediaLimits()
        limits.indexBytes = 1000
        let run = try MediaFile(movie().headFirst()).plan(seconds: 10, limits: limits)
        #expect(run.reason?.contains("moov") == true)
    }
}
