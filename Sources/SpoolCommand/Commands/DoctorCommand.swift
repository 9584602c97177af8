import Spool
import SpoolCore
import SpoolJSON
import SpoolSystem
import SpoolTiers

/// `spool doctor`: checks whether the program can work here, with advice.
struct DoctorCommand: Command {
    static let probeBucket = Flag(
        "probe-bucket", help: "With --bucket: write a small object into the bucket, read it and delete it. Without it, nothing is written.")

    static let syntax = CommandSyntax(
        "doctor", "Check the store, the disk, the network and the settings, with advice",
        discussion: [
            "One line for each check: ok, a warning, or a problem. The checks change nothing: a file in the directory of the store is written and"
                + " removed. A bucket is asked for an object that does not exist. Exits 1 when there is a problem.",
            "Run it as the user of the server, with its settings: 'sudo -u spool spool doctor --cache"
                + " /var/cache/spool' for that of the package. Then the rights that its systemd unit gives are checked, too.",
        ],
        flags: [.json, probeBucket] + ProxySettings.all + BucketSettings.all + CacheSettings.store + LimitFlags.all
            + [CacheSettings.certificates],
        examples: [
            .init("spool doctor", "Check everything."),
            .init("spool doctor --bucket https://s3.example.com/media --probe-bucket", "Check a bucket, with a write."),
            .init("spool doctor --cache /mnt/media --listen 0.0.0.0:8080 --token @token.txt", "Check settings before a server uses them."),
        ])

    private let settings: CacheSettings
    private let proxySettings: ProxySettings
    private let arguments: Arguments
    /// The bucket, or nil without one. Keys that can't be read are a finding.
    private let bucket: Result<BucketAddress?, UsageError>

    init(_ arguments: Arguments) throws(UsageError) {
        settings = try CacheSettings(arguments)
        proxySettings = try ProxySettings(arguments)
        self.arguments = arguments
        bucket = Result { () throws(UsageError) in try BucketSettings(arguments).address }
    }

    func run() async throws -> ExitCode {
        let directory = try settings.directory()
        var findings = MachineCheck(settings: settings).findings()
        findings += [token].compactMap(\.self)
        findings += await StoreCheck(settings: settings, directory: directory).findings()
        findings += [UnitCheck.installed()?.finding(store: directory, user: Environment["USER"])].compactMap(\.self)
        findings += await bucketFindings()
        findings += ServerCheck(directory: directory, options: proxySettings.options).findings()
        try print(findings)
        return findings.contains { $0.level == .problem } ? .failure : .success
    }

    private func bucketFindings() async -> [Finding] {
        switch bucket {
        case .success(nil): return []
        case .failure(let error):
            let advice = "give this command the bucket and the keys of the server, for example by --bucket-key-file FILE"
            return [.problem("bucket", error.description, advice: advice)]
        case .success(let address?):
            #if os(Linux)
            let certificates = settings.configuration.network.certificateFile
            return await BucketCheck(
                address: address, certificateFile: certificates, writes: arguments.has(Self.probeBucket)
            ).findings()
            #else
            return []
            #endif
        }
    }

    /// A token in a file that others can read is not a secret.
    private var token: Finding? {
        guard case .file(let path, let line)? = arguments.source(of: ProxySettings.token),
            arguments[ProxySettings.token]?.hasPrefix("@") == false
        else { return nil }
        return .warning(
            "token", "\(path):\(line) contains the token itself",
            advice: "write 'token = @FILE' with a file that only the server's user may read")
    }

    private func print(_ findings: [Finding]) throws {
        let counts = Dictionary(grouping: findings, by: \.level).mapValues(\.count)
        let (problems, warnings) = (counts[.problem] ?? 0, counts[.warning] ?? 0)
        guard !arguments.isJSON else {
            let json = JSON.object([
                ("checks", .array(findings.map(\.json))), ("warnings", .integer(Int64(warnings))), ("problems", .integer(Int64(problems))),
            ])
            return try OutputStream.output.write(json.text + "\n")
        }
        let style = TerminalStyle(.output)
        // Written as bytes, because `write` of a text removes the codes of colours.
        try OutputStream.output.write(Array(findings.map { $0.lines(style) }.joined().utf8))
        let verdict =
            problems == 0 && warnings == 0 ? "All is well." : "\(problems.counted("problem")), \(warnings.counted("warning"))."
        try OutputStream.output.write("\n\(verdict)\n")
    }
}
