/// The options of the command line.
struct Options {
    /// The program under test, or nil to measure the peers alone.
    var spool: String?
    /// Parts of the names of the rows to run. Empty for all.
    var only: [String] = []
    var rounds: Int?
    var json: String?
    /// The path for the drawing of the curves. If it is given, only curves run.
    var curves: String?
    var thresholds: String?
    /// The directory of the files, on the file system to be measured.
    var directory = "/var/tmp"
    var listsRows = false

    /// The part of a crowd that this process plays instead of the harness.
    var crowd: Bystander?
    var crowdOptions = Crowd()

    /// The length of the made-up file that this process plays instead of the harness.
    var playedBytes: Int64?

    /// The options of a crowd.
    struct Crowd {
        var port: UInt16 = 0
        var target = "/"
        var count = 1
    }

    static let help = """
        Measures spool beside nginx on this machine. See Benchmarks/README.md.

          --spool PATH        the program under test; without it only the peers run
          --only NAME         the row NAME, or rows whose name contains it; may be repeated
          --rounds N          measured rounds per row and program, instead of each row's own number
          --json FILE         writes every value of every round
          --curves FILE       runs the rows of curves and draws them into an SVG
          --check FILE        compares with the thresholds in FILE; exit code 1 when one does not hold
          --directory PATH    where files and caches lie (default /var/tmp)
          --list              prints the names of the rows
        """

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let word = rest.popFirst() {
            switch word {
            case "--spool": spool = try Self.value(of: word, &rest)
            case "--only": only.append(try Self.value(of: word, &rest))
            case "--rounds": rounds = try Self.count(of: word, &rest)
            case "--json": json = try Self.value(of: word, &rest)
            case "--curves": curves = try Self.value(of: word, &rest)
            case "--check": thresholds = try Self.value(of: word, &rest)
            case "--directory": directory = try Self.value(of: word, &rest)
            case "--list": listsRows = true
            case "--crowd": crowd = Bystander(rawValue: try Self.value(of: word, &rest))
            case "--play": playedBytes = Int64(try Self.value(of: word, &rest))
            case "--port": crowdOptions.port = UInt16(try Self.value(of: word, &rest)) ?? 0
            case "--target": crowdOptions.target = try Self.value(of: word, &rest)
            case "--count": crowdOptions.count = Int(try Self.value(of: word, &rest)) ?? 1
            default: throw BenchmarkError("unknown option \(word)\n\n\(Self.help)")
            }
        }
    }

    /// Whether a row is selected. The whole name of a row selects that row alone. Any other text
    /// selects all names that contain it.
    func includes(_ name: String, of allNames: [String]) -> Bool {
        only.isEmpty || only.contains { name == $0 || (!allNames.contains($0) && name.contains($0)) }
    }

    private static func value(of option: String, _ rest: inout ArraySlice<String>) throws -> String {
        guard let value = rest.popFirst() else { throw BenchmarkError("\(option) wants a value") }
        return value
    }

    private static func count(of option: String, _ rest: inout ArraySlice<String>) throws -> Int {
        guard let count = Int(try value(of: option, &rest)), (1...1000).contains(count) else {
            throw BenchmarkError("\(option) wants a number from 1 to 1000")
        }
        return count
    }
}
