import Foundation
import Testing

/// The dashboard of Grafana and the alerts of Prometheus ask for metrics that the server has.
struct MonitoringTests {
    @Test(arguments: ["dashboard.json", "alerts.yml", "alerts-test.yml"])
    func `a monitoring file names only metrics of the server`(file: String) throws {
        let source = try Self.text("Sources/SpoolDashboard/Pages/Metrics.swift")
        let metrics = Set(source.matches(of: /"(spool_[a-z_]+)"/).flatMap { [String($0.1), String($0.1) + "_bucket"] })
        #expect(metrics.count > 10)
        let used = Set(try Self.text("packaging/monitoring/\(file)").matches(of: /spool_[a-z_]+/).map { String($0.0) })
        #expect(!used.isEmpty)
        #expect(used.subtracting(metrics) == [])
    }

    @Test func `the dashboard is JSON, and every panel has a title, a description and a query`() throws {
        let text = try Self.text("packaging/monitoring/dashboard.json")
        let dashboard = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let panels = try #require(dashboard["panels"] as? [[String: Any]])
        #expect(Set(panels.compactMap { $0["id"] as? Int }).count == panels.count)
        for panel in panels {
            #expect((panel["title"] as? String)?.isEmpty == false)
            #expect((panel["description"] as? String)?.isEmpty == false)
            #expect((panel["targets"] as? [[String: Any]])?.isEmpty == false)
        }
    }

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: PackageDirectory.url.appendingPathComponent(path), encoding: .utf8)
    }
}
