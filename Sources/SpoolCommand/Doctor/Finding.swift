import SpoolJSON

/// A result of `spool doctor`.
package struct Finding: Hashable, Sendable {
    /// The weight of a finding.
    package enum Level: String, Sendable {
        /// As it should be.
        case ok
        /// Spool works, and something is slower or less safe than it could be.
        case warning
        /// Something does not work.
        case problem
    }

    package let level: Level
    /// The checked thing in one or two words, for example `disk space`.
    package let subject: String
    /// The observation.
    package let text: String
    /// The remedy, or nil when none is needed.
    package let advice: String?

    package static func ok(_ subject: String, _ text: String) -> Finding {
        Finding(level: .ok, subject: subject, text: text, advice: nil)
    }

    package static func warning(_ subject: String, _ text: String, advice: String) -> Finding {
        Finding(level: .warning, subject: subject, text: text, advice: advice)
    }

    package static func problem(_ subject: String, _ text: String, advice: String) -> Finding {
        Finding(level: .problem, subject: subject, text: text, advice: advice)
    }
}

extension Finding {
    /// The finding as lines for a terminal.
    func lines(_ style: TerminalStyle) -> String {
        let color: TerminalStyle.Color =
            switch level {
            case .ok: .green
            case .warning: .yellow
            case .problem: .red
            }
        let name = subject.padded(to: 13) + " "
        let line = "\(style.colored(level.rawValue.padded(to: 9), color))\(name)\(text.printable)\n"
        return line + (advice.map { "".padded(to: 9) + "-> \($0.printable)\n" } ?? "")
    }

    var json: JSON {
        .object([("check", .string(subject)), ("level", .string(level.rawValue)), ("text", .string(text)), ("advice", JSON(advice))])
    }
}
