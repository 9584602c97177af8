/// One quantity of a row, measured for every program of the row.
struct Measure {
    /// The name in thresholds, without spaces.
    let name: String
    let unit: String
    /// The absolute limit, or nil if only peers bound the measure.
    var bound: Double?
    private(set) var programs: [String] = []
    private(set) var samples: [String: Sample] = [:]

    init(_ name: String, _ unit: String, bound: Double? = nil) {
        self.name = name
        self.unit = unit
        self.bound = bound
    }

    mutating func add(_ value: Double, of program: String) {
        if samples[program] == nil { programs.append(program) }
        samples[program, default: Sample()].values.append(value)
    }

    /// Returns the median of ours divided by a peer's, or nil if one of them was not measured.
    func ratio(ours: String, to peer: String) -> Double? {
        guard let above = samples[ours]?.median, let below = samples[peer]?.median, below > 0 else { return nil }
        return above / below
    }
}

/// The results of a row.
struct RowResult {
    let name: String
    /// The program whose peers the others are.
    let ours: String
    var measures: [Measure]
    /// The reason why nothing was measured, or nil.
    var failure: String?

    subscript(_ measure: String) -> Measure? {
        measures.first { $0.name == measure }
    }
}
