import SpoolLibc

/// Draws curves as one SVG: a panel for each row, both axes logarithmic, a line for each measure.
///
/// The file stands alone, without scripts, fonts and pictures from elsewhere. It is light or dark
/// like the reader's system.
struct CurveDrawing {
    private static let columns = 2
    private static let panel = (width: 480.0, height: 320.0)
    private static let header = 56.0, footer = 40.0
    /// The axes in a panel. The names of the lines are to the right of them.
    private static let plot = (left: 62.0, top: 40.0, right: 366.0, bottom: 262.0)
    /// The height of two lines of a name.
    private static let labelHeight = 29.0

    private let row: any CurveRow
    private let result: RowResult
    private let across: Axis
    private let up: Axis

    /// Returns the whole drawing. `machine` lists the facts about the machine.
    static func text(of rows: [(any CurveRow, RowResult)], machine: [(String, String)]) -> String {
        let lines = (rows.count + 1 + columns - 1) / columns
        let width = Double(columns) * panel.width, height = header + Double(lines) * panel.height + footer
        let panels = rows.enumerated().map { index, row in at(index, CurveDrawing(row.0, row.1).drawn) }
        let told = ["date", "cores", "processor", "kernel", "load average at the start"]
        let facts = machine.filter { told.contains($0.0) }.map { "\($0.0): \($0.1)" }.joined(separator: " · ")
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width.fixed(0)) \(height.fixed(0))" role="img" aria-labelledby="name what">
            <title id="name">What Spool costs as work grows</title>
            <desc id="what">\(rows.map { summary($0.0, $0.1) }.joined(separator: " "))</desc>
            \(style)
            <rect class="ground" width="100%" height="100%"/>
            \(label("What Spool costs as work grows", 20, 28, "title"))
            \(label("made by scripts/bench --curves", 20, 46, "quiet"))
            \(panels.joined(separator: "\n"))
            \(at(rows.count, legend))
            \(label(facts, 20, height - 16, "quiet"))
            </svg>

            """
    }

    private init(_ row: any CurveRow, _ result: RowResult) {
        self.row = row
        self.result = result
        let values = result.measures.flatMap { $0.samples.values.flatMap { [$0.minimum, $0.maximum] } }.filter { $0 > 0 }
        across = Axis(row.points.map(Double.init), from: Self.plot.left, to: Self.plot.right)
        up = Axis(values, from: Self.plot.bottom, to: Self.plot.top)
    }

    // MARK: A panel

    private var drawn: String {
        let plot = Self.plot, middle = (plot.left + plot.right) / 2
        var parts = [
            Self.label(row.title, plot.left, plot.top - 14, "heading"), Self.label(row.axis, middle, plot.bottom + 38, "middle quiet"),
        ]
        for value in across.ticks {
            let x = across.place(value)
            parts += [
                Self.line(x, plot.top, x, plot.bottom, "grid"), Self.label(Self.count(value), x, plot.bottom + 18, "middle quiet"),
            ]
        }
        for value in up.ticks {
            let y = up.place(value)
            parts += [Self.line(plot.left, y, plot.right, y, "grid"), Self.label(Self.time(value), plot.left - 8, y + 4, "end quiet")]
        }
        if let failure = result.failure {
            parts.append(Self.label("not measured: \(failure)", plot.left + 8, plot.top + 20, "quiet"))
        }
        let lines = result.measures.enumerated().map { CurveLine($1, number: $0, points: row.points) }.filter { !$0.places.isEmpty }
        if let lowest = lines.compactMap(\.places.first?.median).min() { parts.append(guide(from: lowest)) }
        parts += lines.map { $0.drawn(across, up) }
        return (parts + names(of: lines)).joined(separator: "\n")
    }

    /// A line for a cost in proportion to the size, from the first point of the lowest line to the
    /// edge.
    private func guide(from value: Double) -> String {
        guard let first = row.points.first, let last = row.points.last, last > first else { return "" }
        let grown = min(value * Double(last) / Double(first), up.highest)
        let end = Double(first) * grown / value
        return Self.line(across.place(Double(first)), up.place(value), across.place(end), up.place(grown), "guide")
    }

    /// Returns the names at the ends of the lines, moved apart where they would overlap.
    private func names(of lines: [CurveLine]) -> [String] {
        let ends = lines.compactMap { line in line.places.last.map { (line, up.place($0.median), $0.median) } }.sorted { $0.1 < $1.1 }
        var free = Self.plot.top
        // From the top down. At most four names overlap, and the plot is higher than four names.
        return ends.map { line, y, value in
            let place = max(y, free + 4)
            free = place + Self.labelHeight - 4
            return Self.label(line.measure.name, Self.plot.right + 12, place, "name line\(line.number)")
                + Self.label("\(Self.time(value))\(line.isCPU ? " CPU" : "")", Self.plot.right + 12, place + 13, "quiet")
        }
    }

    // MARK: Beside the panels

    private static let legend = [
        "How to read it", "Each point is the median over the rounds, the bar", "through it goes from the least to the most.",
        "Both axes are logarithmic. A flat line: size costs", "nothing. The dashed line: twice the size, twice the cost.",
        "CPU is user and system time of the program alone;", "the others are from request to first byte, and",
        "“start” from the start of the program to that byte.",
    ].enumerated().map { label($1, plot.left, plot.top - 14 + Double($0) * 22, $0 == 0 ? "heading" : "quiet") }.joined(separator: "\n")

    /// Returns a description of a panel in words, for readers who cannot see it.
    private static func summary(_ row: any CurveRow, _ result: RowResult) -> String {
        let lines = result.measures.map { measure in
            let values = row.points.compactMap { point in
                measure.samples[String(point)].map { "\(time($0.median)) at \(count(Double(point)))" }
            }
            return "\(measure.name): \(values.joined(separator: ", "))"
        }
        return escaped("\(row.title), \(lines.joined(separator: "; ")).")
    }

    private static func at(_ index: Int, _ content: String) -> String {
        let x = Double(index % columns) * panel.width, y = header + Double(index / columns) * panel.height
        return "<g transform=\"translate(\(x.fixed(0)) \(y.fixed(0)))\">\n\(content)\n</g>"
    }

    private static let style = """
        <style>
        text { font: 12px system-ui, sans-serif; fill: #1f2328 }
        .title { font-size: 18px; font-weight: 600 } .heading { font-size: 14px; font-weight: 600 }
        .name { font-weight: 600 } .middle { text-anchor: middle } .end { text-anchor: end } .quiet { fill: #59636e }
        .ground { fill: #ffffff } .grid { stroke: #d8dee4 } .guide { stroke: #818b98; stroke-dasharray: 5 5 }
        .curve { fill: none; stroke-width: 2 }
        .line0 { stroke: #0a5fb4; color: #0a5fb4 } .line1 { stroke: #b04a00; color: #b04a00 } .line2 { stroke: #1a7f37; color: #1a7f37 }
        .line3 { stroke: #8250df; color: #8250df }
        text.line0, text.line1, text.line2, text.line3 { stroke: none; fill: currentColor } .dot { fill: currentColor; stroke: none }
        @media (prefers-color-scheme: dark) {
        text { fill: #f0f6fc } .quiet { fill: #9198a1 } .ground { fill: #0d1117 } .grid { stroke: #30363d } .guide { stroke: #7d8590 }
        .line0 { stroke: #58a6ff; color: #58a6ff } .line1 { stroke: #f0883e; color: #f0883e } .line2 { stroke: #3fb950; color: #3fb950 }
        .line3 { stroke: #bc8cff; color: #bc8cff }
        text.line0, text.line1, text.line2, text.line3 { fill: currentColor }
        }
        </style>
        """

    // MARK: Words and lines

    static func label(_ text: String, _ x: Double, _ y: Double, _ kind: String) -> String {
        "<text x=\"\(x.fixed(1))\" y=\"\(y.fixed(1))\" class=\"\(kind)\">\(escaped(text))</text>"
    }

    static func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ kind: String) -> String {
        "<line x1=\"\(x1.fixed(1))\" y1=\"\(y1.fixed(1))\" x2=\"\(x2.fixed(1))\" y2=\"\(y2.fixed(1))\" class=\"\(kind)\"/>"
    }

    private static func count(_ value: Double) -> String {
        value >= 1000 ? "\((value / 1000).fixed(0))k" : value.fixed(0)
    }

    private static func time(_ microseconds: Double) -> String {
        switch microseconds {
        case 999_500...: "\(short(microseconds / 1_000_000)) s"
        case 999.5...: "\(short(microseconds / 1000)) ms"
        default: "\(short(microseconds)) µs"
        }
    }

    private static func short(_ value: Double) -> String {
        value.rounded() == value ? value.fixed(0) : value.tabular
    }

    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            default: result.append(character)
            }
        }
    }
}

/// One measure of a panel.
private struct CurveLine {
    let measure: Measure
    /// The number of the line in its panel, from 0 to 3, which selects its colour and mark.
    let number: Int
    let places: [(point: Double, median: Double, minimum: Double, maximum: Double)]

    var isCPU: Bool { measure.unit.hasSuffix("CPU") }

    init(_ measure: Measure, number: Int, points: [Int]) {
        self.measure = measure
        self.number = number
        places = points.compactMap { point in
            guard let sample = measure.samples[String(point)], sample.minimum > 0 else { return nil }
            return (Double(point), sample.median, sample.minimum, sample.maximum)
        }
    }

    func drawn(_ across: Axis, _ up: Axis) -> String {
        let path = places.map { "\(across.place($0.point).fixed(1)),\(up.place($0.median).fixed(1))" }.joined(separator: " ")
        let marks = places.map { place in
            let x = across.place(place.point)
            return CurveDrawing.line(x, up.place(place.minimum), x, up.place(place.maximum), "line\(number)")
                + mark(x, up.place(place.median))
        }
        return "<polyline points=\"\(path)\" class=\"curve line\(number)\"/>\n" + marks.joined(separator: "\n")
    }

    /// Returns a mark with its own shape for each line, so that colour is not the only difference.
    private func mark(_ x: Double, _ y: Double) -> String {
        let corners: [(Double, Double)]
        switch number {
        case 0: return "<circle cx=\"\(x.fixed(1))\" cy=\"\(y.fixed(1))\" r=\"4\" class=\"line0 dot\"/>"
        case 1: corners = [(-4, -4), (4, -4), (4, 4), (-4, 4)]
        case 2: corners = [(0, -5), (5, 4), (-5, 4)]
        default: corners = [(0, -6), (6, 0), (0, 6), (-6, 0)]
        }
        let points = corners.map { "\((x + $0.0).fixed(1)),\((y + $0.1).fixed(1))" }.joined(separator: " ")
        return "<polygon points=\"\(points)\" class=\"line\(number) dot\"/>"
    }
}

/// A logarithmic axis between two powers of ten.
private struct Axis {
    private let first: Double, last: Double
    private let start: Double, end: Double

    /// Makes the axis for a set of values, between two coordinates.
    init(_ values: [Double], from start: Double, to end: Double) {
        // With a small tolerance, so that a value on a power of ten needs no further decade.
        first = floor(log10(max(values.min() ?? 1, 1e-3)) + 1e-9)
        last = max(first + 1, ceil(log10(max(values.max() ?? 1, 1e-3)) - 1e-9))
        self.start = start
        self.end = end
    }

    /// The value at the end of the axis.
    var highest: Double { pow(10, last) }

    var ticks: [Double] {
        (0...Int(last - first)).map { pow(10, first + Double($0)) }
    }

    func place(_ value: Double) -> Double {
        start + (log10(max(value, 1e-3)) - first) / (last - first) * (end - start)
    }
}
