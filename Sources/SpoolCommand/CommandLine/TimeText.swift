import SpoolCore

/// Times on the command line, such as `1s`, `0.5m` or `2h`.
enum TimeText {
    /// Returns a time, or nil for another text and for a time outside of the bounds.
    ///
    /// - Parameter bounds: The shortest and the longest time, in seconds.
    static func parse(_ text: String, within bounds: ClosedRange<Double>) -> Nanoseconds? {
        let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600]
        guard let unit = text.last.flatMap({ units[$0] }), let number = Double(text.dropLast()), bounds.contains(number * unit)
        else { return nil }
        return Nanoseconds(number * unit * 1e9)
    }
}
