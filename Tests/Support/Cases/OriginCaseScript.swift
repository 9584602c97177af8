package import SpoolCore
package import SpoolOrigin
internal import SpoolSystem
package import SpoolTesting

/// The behaviour of an origin while a row of the table is played. Steps change it, and requests use
/// it up.
package final class OriginCaseScript: Sendable {
    private struct State {
        var queue: [OriginBehaviour] = [.correct]
        var routes: [String: OriginBehaviour] = [:]
        var agents: [String: OriginBehaviour] = [:]
    }

    private let state = Locked(State())

    /// Creates a script of correct responses.
    package init() {}

    /// Sets the behaviours of the next requests. The last one repeats.
    package func follow(_ behaviours: [OriginBehaviour]) {
        state.withLock { $0.queue = behaviours }
    }

    /// Sets the behaviour at one path.
    package func route(_ path: String, _ behaviour: OriginBehaviour) {
        state.withLock { $0.routes[path] = behaviour }
    }

    /// Sets the behaviour for requests with this `User-Agent`.
    package func route(agent: String, _ behaviour: OriginBehaviour) {
        state.withLock { $0.agents[agent] = behaviour }
    }

    /// Returns the behaviour for a request, and uses it up.
    package func behaviour(of request: OriginRequest) -> OriginBehaviour {
        state.withLock { state in
            if let behaviour = state.routes[request.path] { return behaviour }
            if let behaviour = request.fields["User-Agent"].flatMap({ state.agents[$0] }) { return behaviour }
            return state.queue.count > 1 ? state.queue.removeFirst() : state.queue.first ?? .correct
        }
    }
}

extension OriginRequest {
    /// The path and query of its URL.
    fileprivate var path: String {
        let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        return parts.count == 4 ? "/" + parts[3] : "/"
    }
}

// MARK: Outcomes in words

extension OriginCase {
    /// The longest entity tag that is shown in full, in bytes.
    private static let shownTagLength = 24

    /// Returns the requests as text: `0-`, `30000- if "v1"`, `0- unless "v1"`, or `/b 0-` for
    /// another URL than that of the row.
    package func words(for entries: [OriginLog.Entry]) -> String {
        let own = OriginRequest(url: resource.url, fields: [:]).path
        let asked = entries.map { entry in
            let fields = entry.request.fields
            var words: [String] = []
            if entry.request.method != "GET" { words.append(entry.request.method) }
            if entry.request.path != own { words.append(entry.request.path) }
            words.append(entry.range.map { String($0.dropFirst("bytes=".count)) } ?? "whole")
            if let condition = entry.ifRange { words.append("if \(Self.shown(condition))") }
            if let condition = fields["If-None-Match"] ?? fields["If-Modified-Since"] { words.append("unless \(Self.shown(condition))") }
            if fields["Authorization"] != nil { words.append("with credentials") }
            return words.joined(separator: " ")
        }
        let told = asked.indices.filter { countsRepeats || $0 == 0 || asked[$0] != asked[$0 - 1] }.map { asked[$0] }
        return told.joined(separator: ", ")
    }

    private static func shown(_ validator: String) -> String {
        if HTTPDate.parse(validator) != nil { return "its date" }
        return validator.utf8.count <= shownTagLength ? validator : "\(validator.prefix(8))… of \(validator.utf8.count) bytes"
    }

    /// Returns text that names the version of some bytes that begin at `offset`: `30000-99999 of
    /// v1`.
    package func words(for bytes: [UInt8], at offset: Int64) -> String {
        guard !bytes.isEmpty else { return "nothing" }
        let range = "\(offset)-\(offset + Int64(bytes.count) - 1)"
        let version = versions.first { version in
            offset + Int64(bytes.count) <= version.length
                && bytes.withUnsafeBytes { version.content.firstDifference(in: $0, at: offset) } == nil
        }
        if let version { return "\(range) of v\(version.content.seed)" }
        return bytes.count < 1000 && bytes.allSatisfy { $0 < 128 }
            ? "'\(String(decoding: bytes, as: UTF8.self))'" : "\(range) of no version"
    }

    /// Returns the stored bytes as text.
    ///
    /// - Parameter read: Returns the bytes of a stored range.
    package func words(stored: ByteRangeSet, isComplete: Bool, read: (ByteRange) throws -> [UInt8]) rethrows -> String {
        if stored.isEmpty { return isComplete ? "all of 0 bytes" : "nothing" }
        let parts = try stored.ranges.map { words(for: try read($0), at: $0.lowerBound) }
        return parts.joined(separator: ", ") + (isComplete ? ", all" : "")
    }
}
