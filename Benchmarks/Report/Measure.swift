/// One quantity of a row, measured for every program of the row.
struct Measure {
    /// Names it in thresholds: no space.
    let name: String
    let unit: String
    /// What must not be exceeded whatever a peer does; nil when only peers bound it.
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

    /// The median of ours divided by a peer's; nil when one of them was not measured.
    func ratio(ours: String, to peer: String) -> Double? {
        guard let above = samples[ours]?.median, let below = samples[peer]?.median, below > 0 else { return nil }
        return above / below
    }
}

/// What a row found.
struct RowResult {
    let name: String
    /// The program that the others are peers of.
    let ours: String
    var measures: [Measure]
    /// Why nothing could be measured; nil when it could.
    var failure: String?

    subscript(_ measure: String) -> Measure? {
        measures.first { $0.name == measure }
    }
}
