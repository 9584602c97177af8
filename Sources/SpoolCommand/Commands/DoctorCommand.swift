import SpoolSystem

/// `spool doctor`: checks whether the program can work here, with advice.
struct DoctorCommand: Command {
    static let json = Flag("json", help: "Print one JSON object.")

    static let syntax = CommandSyntax(
        "doctor", "Check the store, the disk, the network and the settings, with advice",
        discussion: [
            "One line for each check: ok, a warning, or a problem. The checks change nothing: a file in the directory of the store is written and"
                + " removed. Exits 1 when there is a problem.",
            "Run it as the user of the server, with its settings: 'sudo -u spool spool doctor'.",
        ],
        flags: [json] + ProxySettings.all + CacheSettings.store + LimitFlags.all + [CacheSettings.certificates],
        examples: [
            .init("spool doctor", "Check everything."),
            .init("spool doctor --cache /mnt/media --listen 0.0.0.0:8080 --token @token.txt", "Check settings before a server uses them."),
        ])

    private let settings: CacheSettings
    private let proxySettings: ProxySettings
    private let arguments: Arguments

    init(_ arguments: Arguments) throws(UsageError) {
        settings = try CacheSettings(arguments)
        proxySettings = try ProxySettings(arguments)
        self.arguments = arguments
    }

    func run() async throws -> ExitCode {
        let directory = try settings.directory()
        var findings = MachineCheck(settings: settings).findings()
        findings += tokens()
        findings += await StoreCheck(settings: settings, directory: directory).findings()
        findings += ServerCheck(directory: directory, options: proxySettings.options).findings()
        try print(findings)
        return findings.contains { $0.level == .problem } ? .failure : .success
    }

    /// A token in a file that others can read is no secret.
    private func tokens() -> [Finding] {
        guard case .file(let path, let line)? = arguments.source(of: ProxySettings.token),
            arguments[ProxySettings.token]?.hasPrefix("@") == false
        else { return [] }
        return [
            .warning(
                "token", "\(path):\(line) contains the token itself",
                advice: "write 'token = @FILE' with a file that only the server's user may read")
        ]
    }

    private func print(_ findings: [Finding]) throws {
        let counts = Dictionary(grouping: findings, by: \.level).mapValues(\.count)
        let (problems, warnings) = (counts[.problem] ?? 0, counts[.warning] ?? 0)
        guard !arguments.has(Self.json) else {
            var json = JSONWriter()
            json.object { json in
                json.field("checks", array: { json in for finding in findings { finding.write(to: &json) } })
                json.field("warnings", Int64(warnings))
                json.field("problems", Int64(problems))
            }
            return try OutputStream.output.write(json.text + "\n")
        }
        let style = TerminalStyle(.output)
        // Written as bytes, because `write` of a text removes the codes of colours.
        try OutputStream.output.write(Array(findings.map { $0.lines(style) }.joined().utf8))
        let verdict =
            problems == 0 && warnings == 0 ? "All is well." : "\(Self.plural(problems, "problem")), \(Self.plural(warnings, "warning"))."
        try OutputStream.output.write("\n\(verdict)\n")
    }

    private static func plural(_ count: Int, _ word: String) -> String { "\(count) \(word)\(count == 1 ? "" : "s")" }
}
