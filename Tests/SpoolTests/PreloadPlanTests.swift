import Spool
import SpoolCore
import SpoolMedia
import Testing

/// The order in which a preload reads.
@Suite struct PreloadPlanTests {
    private func range(_ lower: Int64, _ upper: Int64) -> ByteRange { ByteRange(lower: lower, upper: upper) }

    @Test func `bytes are read in one range that ends with the resource`() {
        var plan = PreloadPlan(.bytes(1000), length: 600)
        #expect(plan.next() == .read(range(0, 600), isExamined: false))
        plan.passed(range(0, 200))
        #expect(plan.next() == .read(range(200, 600), isExamined: false))
        #expect(plan.progress == PreloadProgress(doneBytes: 200, totalBytes: 600))
        plan.passed(range(200, 600))
        #expect(plan.next() == .done)
        #expect(plan.bytesReason == nil)
    }

    @Test func `bytes from an offset are one range, also beyond the end and for odd numbers`() {
        var plan = PreloadPlan(.bytes(100, from: 300), length: 600)
        #expect(plan.next() == .read(range(300, 400), isExamined: false))
        for amount in [PreloadAmount.bytes(100, from: 600), .bytes(-1, from: 10), .bytes(0, from: .max)] {
            var plan = PreloadPlan(amount, length: 600)
            #expect(plan.next() == .done)
        }
        var rest = PreloadPlan(.bytes(.max, from: 500), length: 600)
        #expect(rest.next() == .read(range(500, 600), isExamined: false))
    }

    @Test(arguments: [(10.0, 2.0), (0.5, 1), (59, 600), (1e9, 2)])
    func `seconds in the middle are planned with the headers, and without what lies before`(start: Double, seconds: Double) {
        let format: [UInt8] = [1, 0, 2, 0, 0x44, 0xAC, 0, 0, 0x10, 0xB1, 2, 0, 4, 0, 16, 0]
        let head =
            Array("RIFF".utf8) + [0, 0, 0, 0] + Array("WAVEfmt ".utf8) + [16, 0, 0, 0] + format + Array("data".utf8)
            + [0xFF, 0xFF, 0xFF, 0xFF]
        let second = 176_400.0, length: Int64 = 44 + 60 * 176_400
        var plan = PreloadPlan(.seconds(seconds, from: start), length: length)
        while case .read(let range, isExamined: true) = plan.next() {
            plan.received(Array(head.dropFirst(Int(range.lowerBound)).prefix(Int(range.count))), at: range.lowerBound)
            plan.passed(range)
        }
        let planned = plan.planned ?? ByteRangeSet()
        #expect(planned.contains(range(0, 44)))
        let (lower, upper) = (min(length, 44 + Int64(min(start, 60) * second)), min(length, 44 + Int64(min(start + seconds, 60) * second)))
        if let wanted = ByteRange(lower, upper) { #expect(planned.contains(wanted)) }
        #expect(Double(planned.totalBytes) <= 44 + (seconds + 6) * second)
    }

    /// Three planners kept all bytes before the seconds: some gigabytes of a long film.
    @Test func `seconds in the middle of a file without an index need no more memory than its reads`() {
        // Frames of 417 bytes and 1152 samples: MP3 of 128 kbit/s, with a tag of 128 bytes at the end.
        let frame: [UInt8] = [0xFF, 0xFB, 0x90, 0x64] + [UInt8](repeating: 0x55, count: 413)
        let file = (0..<2400).flatMap { _ in frame } + [UInt8](repeating: 0, count: 128)
        var limits = MediaLimits()
        (limits.readBytes, limits.keptBytes) = (1000, 8000)
        var plan = PreloadPlan(.seconds(10, from: 40), length: Int64(file.count), limits: limits)
        var readBytes: Int64 = 0
        while case .read(let range, isExamined: true) = plan.next() {
            readBytes += range.count
            plan.received(Array(file[Int(range.lowerBound)..<Int(range.upperBound)]), at: range.lowerBound)
            plan.passed(range)
        }
        #expect(plan.bytesReason == nil)
        #expect(plan.progress.doneBytes == readBytes)
        // The frames that begin in the time from 4 seconds ahead to half a second behind.
        let frames = [0.5, 36, 50.5].map { Int64(($0 * 44_100 / 1152).rounded(.up)) * 417 }
        let end = Int64(file.count)
        #expect(plan.planned?.ranges == [range(0, frames[0]), range(frames[1], frames[2]), range(end - 160, end)])
    }

    @Test(arguments: [PreloadAmount.bytes(0), .bytes(-5), .bytes(.min)])
    func `no bytes are done at once`(amount: PreloadAmount) {
        var plan = PreloadPlan(amount, length: 600)
        #expect(plan.next() == .done)
    }

    @Test func `a resource of unknown length ends where its bytes end`() {
        var plan = PreloadPlan(.whole, length: nil)
        #expect(plan.next() == .read(range(0, ByteRange.maximumOffset), isExamined: false))
        #expect(plan.progress.totalBytes == nil)
        plan.passed(range(0, 300))
        plan.ended(at: 300)
        #expect(plan.next() == .done)
        #expect(plan.progress == PreloadProgress(doneBytes: 300, totalBytes: 300))
    }

    @Test func `seconds of a file that cannot be read become bytes, with a reason`() {
        var plan = PreloadPlan(.seconds(5), length: 100 << 20)
        guard case .read(let first, isExamined: true) = plan.next() else {
            Issue.record("the head is not examined")
            return
        }
        plan.received([UInt8](repeating: 7, count: Int(first.count)), at: 0)
        plan.passed(first)
        #expect(plan.next() == .read(range(first.upperBound, 5 << 20), isExamined: false))
        #expect(plan.bytesReason?.isEmpty == false)
    }

    @Test(arguments: [(5, Int64(30)), (0, 2), (-5, 2), (.max, 86_400)] as [(Int, Int64)])
    func `a segment of a file is six seconds`(count: Int, mebibytes: Int64) {
        var plan = PreloadPlan(.segments(count), length: ByteRange.maximumOffset)
        guard case .read(let first, isExamined: true) = plan.next() else { return }
        plan.received([UInt8](repeating: 7, count: Int(first.count)), at: 0)
        _ = plan.next()
        #expect(plan.planned?.upperBound == mebibytes << 20)
    }

    /// The same range came again and again.
    @Test func `a resource that ends before its length is not examined again`() {
        var plan = PreloadPlan(.seconds(5), length: 100 << 20)
        _ = plan.next()
        plan.passed(range(0, 300))
        plan.ended(at: 300)
        #expect(plan.next() == .done)
        #expect(plan.bytesReason?.contains("300") == true)
    }

    @Test(arguments: [(Double.nan, Int64(2)), (-1, 2), (1e300, 86_400), (3, 3)] as [(Double, Int64)])
    func `the bytes of odd seconds are bounded`(seconds: Double, mebibytes: Int64) {
        var plan = PreloadPlan(.seconds(seconds), length: ByteRange.maximumOffset)
        guard case .read(let first, isExamined: true) = plan.next() else { return }
        plan.received([UInt8](repeating: 7, count: Int(first.count)), at: 0)
        _ = plan.next()
        #expect(plan.planned?.upperBound == mebibytes << 20)
    }

    @Test func `the samples of a WAV file are read behind its head`() {
        let format: [UInt8] = [1, 0, 2, 0, 0x44, 0xAC, 0, 0, 0x10, 0xB1, 2, 0, 4, 0, 16, 0]
        let head =
            Array("RIFF".utf8) + [0, 0, 0, 0] + Array("WAVEfmt ".utf8) + [16, 0, 0, 0] + format + Array("data".utf8)
            + [0xFF, 0xFF, 0xFF, 0xFF]
        var plan = PreloadPlan(.seconds(2), length: 10 << 20)
        guard case .read(let first, isExamined: true) = plan.next() else {
            Issue.record("the head is not examined")
            return
        }
        plan.received(head + [UInt8](repeating: 0, count: Int(first.count) - head.count), at: 0)
        plan.passed(first)
        // Two seconds and half a second of margin.
        #expect(plan.next() == .read(range(first.upperBound, 44 + 176_400 * 5 / 2), isExamined: false))
    }
}
