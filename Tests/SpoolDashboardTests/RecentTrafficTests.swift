import SpoolDashboard
import Testing

/// The traffic of the last hour, which the page draws.
struct RecentTrafficTests {
    @Test func `a step has what was served and fetched since the one before`() {
        var traffic = RecentTraffic()
        traffic.end(.init(servedBytes: 100, fetchedBytes: 40))
        #expect(traffic.steps == [], "the traffic before the first step is not of this hour")
        traffic.end(.init(servedBytes: 150, fetchedBytes: 40))
        traffic.end(.init(servedBytes: 150, fetchedBytes: 45))
        #expect(traffic.steps == [.init(servedBytes: 50, fetchedBytes: 0), .init(servedBytes: 0, fetchedBytes: 5)])
    }

    @Test func `the steps of one hour are kept`() {
        var traffic = RecentTraffic()
        for step in 0...400 { traffic.end(.init(servedBytes: Int64(step * step), fetchedBytes: 0)) }
        #expect(Int64(traffic.steps.count) * RecentTraffic.stepSeconds == 3600)
        #expect(traffic.steps.last == RecentTraffic.Step(servedBytes: 799, fetchedBytes: 0), "400 · 400 − 399 · 399")
    }
}
