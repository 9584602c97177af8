import SpoolCore
import SpoolSystem
import Testing

struct ResidentRegionsTests {
    private static let region: Int64 = 2 << 20
    private static let wholePages = region / 4096

    /// What the kernel was asked, and what it says.
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

    /// A descriptor that is none: what is asked for a range by itself is true, since a read would say what is wrong with it.
    private let nobody: Int32 = 1 << 20

    @Test func `a region that is in memory is asked for once a second`() {
        let kernel = Kernel(), regions = kernel.regions()
        for offset in stride(from: 0 as Int64, to: 2 * Self.region, by: 65_536) {
            #expect(regions.isResident(descriptor: nobody, offset: offset, count: 65_536))
        }
        #expect(kernel.asked == [0, 1])
        kernel.now = kernel.now + .seconds(1)
        #expect(regions.isResident(descriptor: nobody, offset: 0, count: 1))
        #expect(kernel.asked == [0, 1, 0])
    }

    @Test func `a range over a border is looked at on both sides, and another file is another file`() {
        let kernel = Kernel(), regions = kernel.regions()
        #expect(regions.isResident(descriptor: nobody, offset: Self.region - 1, count: 2))
        #expect(kernel.asked == [0, 1])
        #expect(regions.isResident(descriptor: nobody + 1, offset: 0, count: 2))
        #expect(kernel.asked == [0, 1, 0])
    }

    @Test func `where a region is not whole in memory, or the kernel can't tell, a range is asked for by itself`() {
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
