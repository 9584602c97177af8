import SpoolCore
import SpoolSystem
import Testing

struct ResidentRegionsTests {
    private static let region: Int64 = 2 << 20
    private static let wholePages = region / 4096

    /// A kernel that records the queries and returns given answers.
    private final class Kernel {
        var now = MonotonicInstant(nanoseconds: 0)
        var asked: [Int64] = []
        var pages: Int64? = ResidentRegionsTests.wholePages

        func regions() -> ResidentRegions {
            ResidentRegions(now: { self.now }) { _, offset, count in
                #expect(count == ResidentRegionsTests.region)
                self.asked.append(offset / ResidentRegionsTests.region)
                return self.pages
            }
        }
    }

    /// An invalid descriptor: a direct query for a range returns true, because the read itself will
    /// report the error.
    private let nobody: Int32 = 1 << 20

    @Test func `a resident region is queried once a second`() {
        let kernel = Kernel(), regions = kernel.regions()
        for offset in stride(from: 0 as Int64, to: 2 * Self.region, by: 65_536) {
            #expect(regions.isResident(descriptor: nobody, offset: offset, count: 65_536))
        }
        #expect(kernel.asked == [0, 1])
        kernel.now = kernel.now + .seconds(1)
        #expect(regions.isResident(descriptor: nobody, offset: 0, count: 1))
        #expect(kernel.asked == [0, 1, 0])
    }

    @Test func `a range over a border queries both regions, and files are separate`() {
        let kernel = Kernel(), regions = kernel.regions()
        #expect(regions.isResident(descriptor: nobody, offset: Self.region - 1, count: 2))
        #expect(kernel.asked == [0, 1])
        #expect(regions.isResident(descriptor: nobody + 1, offset: 0, count: 2))
        #expect(kernel.asked == [0, 1, 0])
    }

    @Test func `a range is queried directly where its region is not fully resident`() {
        for pages in [Self.wholePages - 1, 0, nil] as [Int64?] {
            let kernel = Kernel(), regions = kernel.regions()
            kernel.pages = pages
            for _ in 0..<3 {
                let alone = isResident(descriptor: nobody, offset: 0, count: 10)
                #expect(regions.isResident(descriptor: nobody, offset: 0, count: 10) == alone)
            }
            #expect(kernel.asked == [0])
        }
    }
}
