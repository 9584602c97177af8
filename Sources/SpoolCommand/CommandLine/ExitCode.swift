import SpoolCore
import SpoolLibc
import SpoolSystem

/// The exit code of the program. The numbers are those of `sysexits.h`.
package struct ExitCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    static let success = ExitCode(rawValue: 0)
    static let failure = ExitCode(rawValue: 1)
    /// EX_USAGE.
    static let usage = ExitCode(rawValue: 64)
    /// EX_UNAVAILABLE: the origin is unreachable.
    static let unreachable = ExitCode(rawValue: 69)
    /// EX_IOERR: the store or a file failed.
    static let inputOutput = ExitCode(rawValue: 74)

    /// The code by which a shell shows that a signal ended a program.
    static func signal(_ number: Int32) -> ExitCode { ExitCode(rawValue: 128 + number) }
}

/// An error that ends a command, with its message and exit code.
struct Failure: Error {
    let message: String
    let code: ExitCode
    /// The name of the error in JSON, or nil for that of the exit code.
    let name: String?
    /// The URL or key that the error is about.
    let url: String?

    init(_ message: String, _ code: ExitCode = .failure, name: String? = nil, url: String? = nil) {
        self.message = message
        self.code = code
        self.name = name
        self.url = url
    }
}

extension Failure {
    /// The error of a pattern that stands for no stored resource.
    static func noMatch(_ pattern: String) -> Failure {
        Failure(
            "no stored resource matches '\(pattern)'; 'spool ls' lists what is stored", name: CacheError.Code.notStored.rawValue,
            url: pattern)
    }

    /// The error of a command that needs a store, in a directory without one.
    static func noStore(_ directory: String) -> Failure {
        Failure(
            "there is no store at \(directory); \(CacheSettings.directory.spelling) DIR names another one, 'spool serve' and"
                + " 'spool get' make one",
            name: "noStore")
    }

    /// Returns an error of the cache with the flags that help.
    static func naming(_ flags: Flag..., error: CacheError) -> Failure {
        Failure("\(error.message) (\(flags.map(\.spelling).joined(separator: ", ")))", name: error.code.rawValue, url: error.key?.string)
    }
}

extension ExitCode {
    /// Returns the exit code and message for an error. The message is nil when the reader of the
    /// output has gone.
    static func of(_ error: any Error) -> (code: ExitCode, message: String?) {
        switch error {
        case let error as UsageError: (.usage, error.description)
        case let error as Failure: (error.code, "spool: \(error.message)")
        case let error as CacheError: (of(error), "spool: \(error.message)")
        // The reader of the output has closed it (`spool ls | head`).
        case let error as SystemError where error.code == EPIPE: (.success, nil)
        case let error as SystemError: (.inputOutput, "spool: \(error)")
        default: (.failure, "spool: \(error)")
        }
    }

    private static func of(_ error: CacheError) -> ExitCode {
        switch error.code {
        case .originUnreachable, .originTimeout, .tlsFailed, .networkRefused: .unreachable
        case .store, .storeLocked, .file: .inputOutput
        case .unsupportedURL: .usage
        default: .failure
        }
    }
}
