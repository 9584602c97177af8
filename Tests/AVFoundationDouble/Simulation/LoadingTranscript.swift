import Foundation
import SpoolCore

/// The requests and their outcomes, line by line, in the notation of recorded traces (docs/traces).
///
/// Confined to the queue of its writer.
package final class LoadingTranscript {
    /// The largest number of lines. Later lines are dropped.
    package static let maxLines = 10_000

    private let start: MonotonicInstant
    private var asked: [Int: String] = [:]
    /// The lines without the heading.
    package private(set) var lines: [String] = []

    init(start: MonotonicInstant) {
        self.start = start
    }

    /// The lines as a trace.
    package var text: String { (["# spool trace 1"] + lines).joined(separator: "\n") }

    /// The contents of request `number`, in words.
    func words(of number: Int) -> String { asked[number] ?? "?" }

    func began(_ number: Int, _ ask: LoadingAsk, at now: MonotonicInstant) {
        var words: [String] = []
        if ask.isRenewal { words.append("R+") } else if ask.wantsInformation { words.append("I+") }
        if let data = ask.data {
            words.append("@\(data.offset)+\(data.length == .max ? "max" : "\(data.length)")")
            if data.toEnd { words.append("E") }
        }
        asked[number] = words.joined(separator: " ")
        write(number, asked[number] ?? "", now)
    }

    func cancelled(_ number: Int, afterBytes bytes: Int64, at now: MonotonicInstant) { write(number, "→\(bytes) ✗", now) }
    func finished(_ number: Int, afterBytes bytes: Int64, at now: MonotonicInstant) { write(number, "→\(bytes) ✓", now) }

    func failed(_ number: Int, afterBytes bytes: Int64, _ error: NSError, at now: MonotonicInstant) {
        write(number, "→\(bytes) ! \(error.domain) \(error.code)", now)
    }

    private func write(_ number: Int, _ words: String, _ now: MonotonicInstant) {
        guard lines.count < Self.maxLines else { return }
        let milliseconds = (now - start) / 1_000_000
        let seconds = "\(milliseconds / 1000).\(String(milliseconds % 1000 + 1000).dropFirst())"
        lines.append("\(seconds) \(number) \(words)")
    }
}
