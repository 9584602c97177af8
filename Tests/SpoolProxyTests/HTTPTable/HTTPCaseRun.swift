import Spool
import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolSystem
import SpoolTesting
import Testing

/// Holds the conversation of one `HTTPCase` with a proxy for one site, and collects what differs
/// from the case.
final class HTTPCaseRun {
    private let row: HTTPCase
    private let isSite: Bool
    private let time = ManualTime()
    private let origin = TableOrigin()
    private let world: ProxyWorld
    private var bodies: [String] = []
    private var statuses: [Int] = []
    private var differences: [String] = []

    static let site = "http://site.example"
    /// How often the case looks whether a fetch is over. Each look waits for a lane.
    private static let patience = 1_000_000

    private init(_ row: HTTPCase, store: StoreKind, isSite: Bool) throws {
        (self.row, self.isSite) = (row, isSite)
        world = try ProxyWorld(
            store: store, time: time, transport: origin, configuration: { $0.freshness.isShared = row.isShared },
            options: { if isSite { $0.fixedOrigin = Self.site } })
    }

    /// Returns what differs from the case, in words.
    ///
    /// - Parameter isSite: Whether the proxy stands in for the site.
    static func differences(_ row: HTTPCase, store: StoreKind = .memory, isSite: Bool = true) throws -> [String] {
        let run = try HTTPCaseRun(row, store: store, isSite: isSite)
        defer { run.world.stop() }
        for index in row.steps.indices { try run.take(index) }
        return run.differences
    }

    private func take(_ index: Int) throws {
        let step = row.steps[index]
        time.advance(by: .seconds(step.delay))
        let now = time.wallNow
        origin.answer(step, number: index + 1, date: now)
        let answer = try send(step, now)
        bodies.append(step.answer?.status == nil ? bodies.first ?? "" : answer.text)
        statuses.append(step.answer?.status == nil ? statuses.first ?? 0 : answer.status)
        settle(step, answer)
        compare(answer, step, index, now)
    }

    private func send(_ step: HTTPCase.Step, _ now: Timestamp) throws -> ProxyClient.Answer {
        let client = try world.connect()
        var fields = HTTPFields(step.fields.map { .init(name: $0.name, value: TableOrigin.dated($0.value, now)) })
        if let body = step.requestBody { fields["Content-Length"] = String(body.utf8.count) }
        client.ask((isSite ? "" : "/http/site.example") + step.target, method: step.method, fields)
        if let body = step.requestBody { client.write(body) }
        return try client.answer(to: step.method)
    }

    /// Waits until the proxy is done with the origin's answer.
    private func settle(_ step: HTTPCase.Step, _ answer: ProxyClient.Answer) {
        let url = Self.site + step.target
        guard ["GET", "HEAD"].contains(step.method) else { return }
        // A client that needs no body leaves the fetch, which ends a moment later.
        if step.method == "HEAD" || answer.status == 304 || answer.status == 416 { time.advance(by: .seconds(2)) }
        for _ in 0..<Self.patience {
            // A revalidation in the background begins once the client has the stored bytes.
            let isAsked = step.answer == nil || !origin.asked.isEmpty
            if isAsked, (try? world.status(of: url)?.fetches) ?? 0 == 0 { return }
        }
        differences.append("the fetch of \(step.method) \(step.target) never ends")
    }

    // MARK: Comparing

    private func compare(_ answer: ProxyClient.Answer, _ step: HTTPCase.Step, _ index: Int, _ now: Timestamp) {
        let asked = origin.asked
        func differ(_ text: String) { differences.append("step \(index + 1): \(text)") }
        if step.answer == nil, let first = asked.first { differ("the origin was asked \(first.method) with \(first.fields.lines)") }
        if step.answer != nil, asked.count != 1 { differ("the origin was asked \(asked.count) times") }
        var status = step.answer?.status ?? statuses[0]
        var body: String? = step.answer?.status == nil ? bodies[0] : step.answer?.body ?? "body \(index + 1)"
        for expectation in step.expectations {
            if let number = Int(expectation) {
                status = number
                if [204, 304].contains(number) { body = "" }
            } else if expectation.hasPrefix("'") {
                body = String(expectation.dropFirst().dropLast())
            } else if expectation == "any body" {
                body = nil
            } else if expectation.hasPrefix("stored "), let number = Int(expectation.dropFirst(7)) {
                (status, body) = (statuses[number - 1], bodies[number - 1])
            } else if expectation.hasPrefix("asks ") {
                if let text = Self.mismatch(String(expectation.dropFirst(5)), asked.last?.fields ?? [:], now) {
                    differ("the request \(text)")
                }
            } else if let text = Self.mismatch(expectation, answer.head.fields, now) {
                differ("the response \(text)")
            }
        }
        if answer.status != status { differ("status \(answer.status), not \(status)") }
        if step.method == "HEAD" || [204, 304].contains(answer.status) { body = "" }
        if let body, answer.text != body { differ("body '\(answer.text)', not '\(body)'") }
    }

    /// Returns how the fields differ from `Name: value`, `Name` or `no Name`, or nil.
    private static func mismatch(_ expectation: String, _ fields: HTTPFields, _ now: Timestamp) -> String? {
        if expectation.hasPrefix("no ") {
            let name = String(expectation.dropFirst(3))
            return fields.combined(HTTPFields.Name(name)).map { "has \(name): \($0)" }
        }
        let parts = expectation.split(separator: ":", maxSplits: 1).map(String.init)
        guard let found = fields.combined(HTTPFields.Name(parts[0])) else { return "has no \(parts[0])" }
        guard parts.count > 1 else { return nil }
        let value = TableOrigin.dated(String(parts[1].drop { $0 == " " }), now)
        return found == value || (value.hasSuffix("…") && found.hasPrefix(value.dropLast()))
            ? nil : "has \(parts[0]): \(found), not \(value)"
    }
}

extension HTTPCase {
    /// Whether the proxy of this case serves several users.
    var isShared: Bool { requirement.contains("shared cache") }
}
