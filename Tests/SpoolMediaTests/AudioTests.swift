import SpoolCore
import SpoolMedia
import Testing

/// The plan of the first seconds of audio streams: MP3, AAC, FLAC, WAV and Ogg.
struct AudioTests {
    /// The number of frames for ten seconds and the margin.
    private func frames(_ samples: Int) -> Int { (441_000 + 22_050 + samples - 1) / samples }

    // MARK: MP3

    @Test func `a constant rate takes as many frames as the seconds have`() throws {
        let file = (0..<1000).flatMap { _ in MP3Model.frame() }
        let run = try MediaFile(file).plan(seconds: 10)
        let end = Int64(frames(MP3Model.samples) * MP3Model.frame().count)
        #expect(run.plan?.container == .mp3)
        // Players look for tags in the last bytes.
        #expect(run.ranges == [0..<end, Int64(file.count - 160)..<Int64(file.count)])
        #expect(run.read.totalBytes <= end + MediaLimits().readBytes)
    }

    @Test(arguments: [("Xing", 36), ("Info", 36), ("VBRI", 36)])
    func `a variable rate with a table is exact`(mark: String, offset: Int) throws {
        let loud = (0..<200).flatMap { _ in MP3Model.frame(rate: 14) }
        let file = MP3Model.tag(bytes: 1000) + MP3Model.table(mark, at: offset) + loud + (0..<800).flatMap { _ in MP3Model.frame() }
        let run = try MediaFile(file).plan(seconds: 10)
        let end = 1010 + MP3Model.frame().count + loud.count + (frames(MP3Model.samples) - 201) * MP3Model.frame().count
        #expect(run.ranges.first == 0..<Int64(end))
    }

    @Test func `the picture in a tag belongs to the plan`() throws {
        let file = MP3Model.tag(bytes: 300_000) + (0..<1000).flatMap { _ in MP3Model.frame() }
        let run = try MediaFile(file).plan(seconds: 1)
        #expect(run.plan.map { $0.ranges.contains(ByteRange(lower: 0, upper: 300_010)) } == true)
    }

    @Test func `bytes between frames are passed over`() throws {
        let frame = MP3Model.frame()
        let file = (0..<100).flatMap { _ in frame } + zeros(700) + (0..<900).flatMap { _ in frame }
        let run = try MediaFile(file).plan(seconds: 10)
        #expect(run.ranges.first == 0..<Int64(frames(MP3Model.samples) * frame.count + 700))
    }

    /// Bytes that look like a header gave a wrong rate.
    @Test func `a header that no other follows is no frame`() throws {
        let file = MP3Model.tag(bytes: 10) + [0xFF, 0xFB, 0x90, 0x68] + zeros(900) + (0..<1000).flatMap { _ in MP3Model.frame() }
        let run = try MediaFile(file).plan(seconds: 10)
        #expect(run.ranges.first == 0..<Int64(20 + 904 + frames(MP3Model.samples) * MP3Model.frame().count))
    }

    @Test func `a file that ends early is planned as a whole`() throws {
        let file = (0..<100).flatMap { _ in MP3Model.frame() }
        let run = try MediaFile(file).plan(seconds: 10)
        #expect(run.plan?.reachesEnd == true)
        #expect(run.ranges == [0..<Int64(file.count)])
    }

    @Test func `a tag before other bytes is no MP3 file`() throws {
        let run = try MediaFile(MP3Model.tag(bytes: 10) + zeros(400_000)).plan(seconds: 10)
        #expect(run.plan == nil)
    }

    // MARK: AAC

    @Test func `ADTS frames of many sizes are counted`() throws {
        let sizes = (0..<1000).map { 200 + $0 % 7 * 31 }
        let file = sizes.flatMap(ADTSModel.frame)
        let run = try MediaFile(file).plan(seconds: 10)
        #expect(run.plan?.container == .aac)
        #expect(run.ranges == [0..<Int64(sizes.prefix(frames(ADTSModel.samples)).reduce(0, +))])
    }

    // MARK: FLAC

    @Test(arguments: [0, 10])
    func `FLAC frames are counted, with a table of seek points and without`(seekPoints: Int) throws {
        let file = FLACModel.stream(frames: (0..<300).map { FLACModel.frame($0) }, seekPoints: seekPoints)
        let run = try MediaFile(file).plan(seconds: 10, limits: .short)
        #expect(run.plan?.container == .flac)
        #expect(run.ranges == [0..<Int64(file.count - 300 * 500 + frames(FLACModel.samples) * 500)])
    }

    /// A header by chance ended the plan at once when its number was high.
    @Test func `audio that looks like a FLAC header does not end the plan`() throws {
        let false1 = FLACModel.header(250), false2 = FLACModel.header(2000)
        let file = FLACModel.stream(frames: (0..<300).map { FLACModel.frame($0, content: [0x11] + false1 + [0x12] + false2) })
        let run = try MediaFile(file).plan(seconds: 10)
        #expect(run.ranges == [0..<Int64(file.count - 300 * 500 + frames(FLACModel.samples) * 500)])
    }

    @Test func `the seconds of a part of a FLAC stream count from its first frame`() throws {
        let file = FLACModel.stream(frames: (1000..<1300).map { FLACModel.frame($0) })
        let run = try MediaFile(file).plan(seconds: 10)
        #expect(run.ranges == [0..<Int64(file.count - 300 * 500 + frames(FLACModel.samples) * 500)])
    }

    @Test func `a FLAC stream may stand behind a tag`() throws {
        let run = try MediaFile(MP3Model.tag(bytes: 50) + FLACModel.stream(frames: [FLACModel.frame(0)])).plan(seconds: 10)
        #expect(run.plan?.container == .flac)
        #expect(run.plan?.reachesEnd == true)
    }

    // MARK: WAV

    @Test(arguments: ["RIFF", "RF64", "BW64"])
    func `WAV samples are counted by the rate of the format`(form: String) throws {
        let list = WaveModel.chunk("LIST", zeros(33))
        let run = try MediaFile(WaveModel.file(seconds: 12, form: form, before: list)).plan(seconds: 3)
        #expect(run.plan?.container == .wav)
        #expect(run.ranges == [0..<Int64(44 + 42 + WaveModel.bytesPerSecond * 7 / 2)])
        #expect(run.reads == 1)
    }

    @Test func `a WAV stream of unknown size is planned by the length of the file`() throws {
        let file = WaveModel.file(seconds: 2, statedBytes: Int(UInt32.max))
        let run = try MediaFile(file).plan(seconds: 10)
        #expect(run.ranges == [0..<Int64(file.count)])
        #expect(run.plan?.reachesEnd == true)
    }

    // MARK: Ogg

    @Test func `Opus pages are counted without the samples that a decoder skips`() throws {
        let file = OggModel.file(head: OggModel.opusHead, rate: 48_000, skipped: 312, seconds: 60)
        let run = try MediaFile(file).plan(seconds: 10)
        let page = OggModel.page(zeros(4000), granule: 0).count
        #expect(run.plan?.container == .ogg)
        // Players look for the last page in the last 64 KiB.
        #expect(run.ranges == [0..<Int64(file.count - 49 * page), Int64(file.count - 65_536)..<Int64(file.count)])
    }

    @Test func `Vorbis pages are counted by the rate in its head`() throws {
        let file = OggModel.file(head: OggModel.vorbisHead, rate: 44_100, seconds: 60)
        let run = try MediaFile(file).plan(seconds: 10)
        #expect(run.ranges.first == 0..<Int64(file.count - 49 * OggModel.page(zeros(4000), granule: 0).count))
    }

    @Test func `a page on which no packet ends does not count`() throws {
        let head = OggModel.page(OggModel.vorbisHead, granule: 0, flags: 2)
        let open = OggModel.page(zeros(1000), granule: -1)
        let file = head + open + (1...60).flatMap { OggModel.page(zeros(1000), granule: $0 * 44_100) }
        let run = try MediaFile(file).plan(seconds: 2)
        #expect(run.plan?.ranges.ranges.first.map { $0.count > Int64(head.count + open.count + 2000) } == true)
    }

    /// The plan ended with the first stream, as in a recording of a radio station.
    @Test(arguments: [0, 128])
    func `streams that follow each other in an Ogg file count together`(tagBytes: Int) throws {
        let link = OggModel.file(head: OggModel.vorbisHead, rate: 44_100, seconds: 3, pageBytes: 30_000)
        let file = (0..<4).flatMap { _ in link } + zeros(tagBytes)
        let page = OggModel.page(zeros(30_000), granule: 0).count
        let run = try MediaFile(file).plan(seconds: 4.5)
        #expect(run.ranges.first == 0..<Int64(2 * link.count - page))
        let whole = try MediaFile(file).plan(seconds: 60)
        #expect(whole.ranges == [0..<Int64(file.count)])
    }

    @Test func `an Ogg file without a clock is not readable`() throws {
        let run = try MediaFile(OggModel.file(head: zeros(30), rate: 1, seconds: 3)).plan(seconds: 10)
        #expect(run.plan == nil)
    }
}
