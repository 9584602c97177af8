extension Array where Element: BinaryInteger {
    /// Returns the value below which `fraction` of the values lie, or 0 for an empty array.
    func percentile(_ fraction: Double) -> Element {
        guard !isEmpty else { return 0 }
        let ordered = sorted()
        return ordered[Swift.min(ordered.count - 1, Int(Double(ordered.count) * fraction))]
    }
}

/// The values of one measure, one for each round.
struct Sample {
    var values: [Double] = []

    /// The middle value, or the mean of the two in the middle.
    var median: Double {
        guard !values.isEmpty else { return .nan }
        let ordered = values.sorted(), middle = ordered.count / 2
        return ordered.count % 2 == 1 ? ordered[middle] : (ordered[middle - 1] + ordered[middle]) / 2
    }

    var minimum: Double { values.min() ?? .nan }
    var maximum: Double { values.max() ?? .nan }
}

extension Double {
    /// The number with at least three digits, for a table.
    var tabular: String {
        if isNaN { return "-" }
        let size = magnitude
        let decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3
        return fixed(decimals)
    }

    /// Returns the number with `decimals` digits after the point.
    func fixed(_ decimals: Int) -> String {
        guard isFinite, magnitude < 1e15 else { return "-" }
        let scale = (0..<decimals).reduce(1) { product, _ in product * 10 }
        let scaled = Int64((magnitude * Double(scale)).rounded())
        let sign = self < 0 && scaled != 0 ? "-" : ""
        let whole = sign + String(scaled / Int64(scale))
        guard decimals > 0 else { return whole }
        let digits = String(scaled % Int64(scale))
        return whole + "." + String(repeating: "0", count: decimals - digits.count) + digits
    }
}
