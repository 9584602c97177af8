import SpoolCore

/// Parses and formats sizes.
enum ByteCount {
    private static let suffixes: [(letter: Character, shift: Int)] = [("K", 10), ("M", 20), ("G", 30), ("T", 40)]

    /// Parses a size: a number, which may have a fraction, with K, M, G or T for powers of 1024,
    /// and an optional `iB` or `B`.
    ///
    /// - Returns: The number of bytes, or nil for any other text, a negative number and a size
    ///   larger than `Int64`.
    static func parse(_ text: String) -> Int64? {
        var number = text[...]
        for ending in ["iB", "ib", "B", "b"] where number.hasSuffix(ending) {
            number = number.dropLast(ending.count)
            break
        }
        let suffix = number.last.flatMap { last in suffixes.first { String($0.letter) == last.uppercased() } }
        if suffix != nil { number = number.dropLast() }
        return scale(number, shift: suffix?.shift ?? 0)
    }

    private static func scale(_ number: Substring, shift: Int) -> Int64? {
        guard let first = number.first, first.isASCII, first.isNumber else { return nil }
        if let whole = Int64(number) {
            let (bytes, overflow) = whole.multipliedReportingOverflow(by: 1 << Int64(shift))
            return overflow ? nil : bytes
        }
        guard number.allSatisfy({ $0 == "." || $0.isASCII && $0.isNumber }), let value = Double(number) else { return nil }
        return Int64(exactly: (value * Double(Int64(1) << Int64(shift))).rounded(.down))
    }

    /// Formats a size in about three digits, for example `38.2 MiB`.
    static func text(_ bytes: Int64) -> String {
        guard bytes >= 1024 else { return "\(bytes) B" }
        var value = Double(bytes) / 1024
        var unit = 0
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
        while value >= 1000 && unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        return "\(rounded(value)) \(units[unit])"
    }

    /// Formats with one digit after the point below 100, and with none above.
    private static func rounded(_ value: Double) -> String {
        if value >= 99.95 { return "\(Int64(saturating: value.rounded()))" }
        let tenths = Int64(saturating: (value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    /// Formats all digits in groups of three, for example `40 012 044`.
    static func exact(_ bytes: Int64) -> String {
        var text = ""
        for (index, digit) in String(bytes).reversed().enumerated() {
            if index > 0 && index % 3 == 0 { text.append(" ") }
            text.append(digit)
        }
        return String(text.reversed())
    }

    /// Returns the part in whole per cent, rounded down, so that 100 % means all.
    static func percent(_ part: Int64, of whole: Int64) -> Int {
        whole <= 0 ? 100 : Int(Int64(saturating: Double(part) / Double(whole) * 100))
    }
}
