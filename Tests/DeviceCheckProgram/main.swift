import Foundation
import SpoolDeviceChecks

// The host of the cases on a Mac: `swift run -c release spool-device-check`. The main thread serves
// the main queue, on which players announce what happens, so the program ends by `exit`.

let help = """
    spool-device-check plays small media by AVFoundation, first without Spool and then with it.

      --only ID[,ID…]    these cases alone, for example E1,S2
      --samples DIR      files that no encoder of the system writes: sample.mp3, sample.aac, sample.ogg, sample.webm, sample.avi
      --json FILE        also writes the results as JSON
      --junit FILE       also writes the results for a CI system
      --list             the cases, without running them

    The exit status is 1 if a case failed.
    """

var options: [String: String] = [:]
var words = CommandLine.arguments.dropFirst()
while let word = words.popFirst() {
    switch word {
    case "--help", "-h":
        print(help)
        exit(0)
    case "--list":
        for check in DeviceCase.all { print("\(check.id) \(check.title) \(check.assumptions.joined(separator: " "))") }
        exit(0)
    case "--only", "--samples", "--json", "--junit":
        guard let value = words.popFirst() else {
            print("\(word) needs a value; spool-device-check --help")
            exit(2)
        }
        options[word] = value
    default:
        print("unknown argument \(word); spool-device-check --help")
        exit(2)
    }
}

let chosen = options
Task { @MainActor in
    do {
        let only = chosen["--only"].map { Set($0.split(separator: ",").map(String.init)) }
        let samples = try await Samples(extra: chosen["--samples"])
        let results = await DeviceChecks.run(only: only, samples) { result in
            // A pipe gets each line at once.
            FileHandle.standardOutput.write(Data((result.line + "\n").utf8))
        }
        if let file = chosen["--json"] { try Data(DeviceChecks.json(results).utf8).write(to: URL(fileURLWithPath: file)) }
        if let file = chosen["--junit"] { try Data(DeviceChecks.junit(results).utf8).write(to: URL(fileURLWithPath: file)) }
        let failures = results.count { if case .failed = $0.verdict { true } else { false } }
        let passes = results.count { $0.verdict == .passed }
        print("\(passes) passed, \(failures) failed, \(results.count - passes - failures) skipped")
        exit(failures == 0 ? 0 : 1)
    } catch {
        print("spool-device-check could not begin: \(error)")
        exit(2)
    }
}
RunLoop.main.run()
