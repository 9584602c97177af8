import SpoolCore
import SpoolMedia
import Testing

/// The plan of the first seconds of Matroska and WebM files.
struct MatroskaTests {
    @Test func `blocks are followed, and the cue points at the tail belong to the plan`() throws {
        let model = MatroskaModel()
        let file = model.file
        let run = try MediaFile(file).plan(seconds: 10, limits: .short)
        let first = try #require(run.ranges.first), last = try #require(run.ranges.last)
        let before = file.count - 612 - 30 * model.cluster(0).count
        #expect(run.plan?.container == .matroska)
        #expect(first.lowerBound == 0)
        // The block that reaches ten and a half seconds is in the eleventh cluster.
        #expect(first.upperBound > Int64(before + 10 * model.cluster(0).count))
        #expect(first.upperBound <= Int64(before + 11 * model.cluster(0).count) + 32)
        #expect(last == Int64(file.count - 612)..<Int64(file.count))
        // The media between are not read.
        #expect(run.read.totalBytes <= first.upperBound + 612 + 128)
    }

    @Test func `cue points at the head need no second place`() throws {
        let run = try MediaFile(MatroskaModel(cues: .head).file).plan(seconds: 10)
        #expect(run.ranges.count == 1)
        #expect(run.plan?.reachesEnd == false)
    }

    @Test func `a live stream without sizes is followed`() throws {
        let file = MatroskaModel(isLive: true, cues: .none).file
        let run = try MediaFile(file).plan(seconds: 10)
        #expect(run.ranges.count == 1)
        #expect(run.plan?.ranges.totalBytes ?? 0 < Int64(file.count / 2))
    }

    @Test func `a place behind the end of the file is ignored`() throws {
        let file = MatroskaModel().file
        let run = try MediaFile(Array(file.dropLast(700))).plan(seconds: 10)
        #expect(run.ranges.count == 1)
    }

    @Test func `all clusters are planned when the file is shorter than the seconds`() throws {
        let file = MatroskaModel(seconds: 5).file
        let run = try MediaFile(file).plan(seconds: 10)
        #expect(run.plan?.reachesEnd == true)
        #expect(run.ranges == [0..<Int64(file.count)])
    }
}
