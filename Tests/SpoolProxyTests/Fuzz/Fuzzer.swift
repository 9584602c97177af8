import Foundation
import SpoolSystem
import SpoolTestSupport
import SpoolTesting

/// Derives texts from a corpus by small changes, from a seed.
///
/// The number of texts bounds a run, not the clock. So a slow machine checks the same texts.
struct Fuzzer {
    let seed: UInt64
    private let random: SeededRandom
    /// The texts of the corpus.
    let originals: [[UInt8]]
    private let rounds: Int

    /// The longest derived text, in bytes.
    static let maxBytes = 8192

    /// - Parameters:
    ///   - corpora: The names of files in `Tests/Corpus`.
    ///   - rounds: The number of derived texts. `SPOOL_FUZZ` multiplies it, as in `scripts/test`.
    init(_ corpora: String..., rounds: Int = 2000) throws {
        seed = Seeds.list(count: 1)[0]
        random = SeededRandom(seed: seed)
        originals = try corpora.flatMap(Self.corpus)
        self.rounds = rounds * max(1, ProcessInfo.processInfo.environment["SPOOL_FUZZ"].flatMap { Int($0) } ?? 1)
    }

    /// Calls `body` with every text of the corpus, then with the derived ones.
    func run(_ body: ([UInt8]) throws -> Void) rethrows {
        for text in originals { try body(text) }
        for _ in 0..<rounds {
            var text = originals[below(originals.count)]
            for _ in 0...below(4) { change(&text) }
            try body(Array(text.prefix(Self.maxBytes)))
        }
    }

    /// The same as text, with wrong bytes replaced.
    func run(_ body: (String) throws -> Void) rethrows {
        try run { (bytes: [UInt8]) in try body(String(decoding: bytes, as: UTF8.self)) }
    }

    func below(_ bound: Int) -> Int { Int(random.next(below: UInt64(bound))) }

    private func change(_ text: inout [UInt8]) {
        let place = below(text.count + 1)
        switch below(9) {
        case 0 where place < text.count: text[place] ^= 1 << UInt8(below(8))
        case 1 where place < text.count: text.remove(at: place)
        case 2: text.insert(contentsOf: Self.snippets[below(Self.snippets.count)].utf8, at: place)
        case 3: text.insert(contentsOf: text[place...].prefix(64), at: place)
        case 4: text.removeSubrange(place...)
        case 5: text += originals[below(originals.count)]
        case 6: text.insert(contentsOf: [UInt8](repeating: UInt8(below(256)), count: 1 + below(300)), at: place)
        case 7: replaceNumber(in: &text, from: place)
        default: text.insert(UInt8(below(256)), at: place)
        }
    }

    /// Replaces the next number with one at the limits of the arithmetic.
    private func replaceNumber(in text: inout [UInt8], from place: Int) {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        guard let start = text[place...].firstIndex(where: digits.contains) else { return }
        let end = text[start...].firstIndex { !digits.contains($0) } ?? text.count
        text.replaceSubrange(start..<end, with: Self.extremes[below(Self.extremes.count)].utf8)
    }

    /// Numbers around 2^60, the largest offset, and around 2^63 and 2^64.
    private static let extremes = [
        "1152921504606846974", "1152921504606846975", "1152921504606846976", "1152921504606846977", "9223372036854775806",
        "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616",
    ]

    private static let snippets = [
        ",", "=", "-", "/", "*", "\"", "\\", ";", ":", "%", "@", "?", "#", " ", "\t", "\r\n", "\r", "\n", "\0", "..", "//", "[", "]", "é",
        "W/", "0", "9223372036854775807", "9223372036854775808", "18446744073709551616", "99999999999999999999999999", "-1", "\r\n\r\n",
        "Content-Length: 1\r\n", "Transfer-Encoding: chunked\r\n", "Host: a\r\n", "HTTP/1.1", "bytes=", "\u{FEFF}", "::", "%00",
    ]

    // MARK: The corpus

    private static func corpus(_ name: String) throws -> [[UInt8]] {
        let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(contentsOf: directory.appendingPathComponent("Corpus/\(name).txt"), encoding: .utf8)
        return text.split(separator: "\n").map { unescaped($0.utf8) }
    }

    private static func unescaped(_ line: Substring.UTF8View) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = Array(line)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let letter = rest.popFirst() else {
                bytes.append(byte)
                continue
            }
            switch letter {
            case UInt8(ascii: "r"): bytes.append(13)
            case UInt8(ascii: "n"): bytes.append(10)
            case UInt8(ascii: "t"): bytes.append(9)
            case UInt8(ascii: "0"): bytes.append(0)
            case UInt8(ascii: "x"):
                bytes.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
                rest = rest.dropFirst(2)
            default: bytes.append(letter)
            }
        }
        return bytes
    }
}
