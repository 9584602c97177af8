/// Writes results for scripts: every value of every round.
enum JSON {
    static func text(of results: [RowResult], machine: [(String, String)]) -> String {
        let facts = machine.map { "\(quoted($0.0)): \(quoted($0.1))" }.joined(separator: ", ")
        let rows = results.map(row).joined(separator: ",\n    ")
        return "{\n  \"machine\": {\(facts)},\n  \"rows\": [\n    \(rows)\n  ]\n}\n"
    }

    private static func row(_ result: RowResult) -> String {
        var fields = ["\"row\": \(quoted(result.name))", "\"ours\": \(quoted(result.ours))"]
        if let failure = result.failure { fields.append("\"failure\": \(quoted(failure))") }
        fields.append("\"measures\": [\(result.measures.map(measure).joined(separator: ", "))]")
        return "{\(fields.joined(separator: ", "))}"
    }

    private static func measure(_ measure: Measure) -> String {
        let programs = measure.programs.map { name in
            "\(quoted(name)): [\((measure.samples[name]?.values ?? []).map(number).joined(separator: ", "))]"
        }
        let bound = measure.bound.map { "\"bound\": \(number($0)), " } ?? ""
        return
            "{\"measure\": \(quoted(measure.name)), \"unit\": \(quoted(measure.unit)), \(bound)\"values\": {\(programs.joined(separator: ", "))}}"
    }

    private static func number(_ value: Double) -> String {
        value.isFinite ? value.fixed(4) : "null"
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case _ where scalar.value < 0x20: result += " "
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
