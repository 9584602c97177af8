import SpoolCore
import SpoolSystem

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// How the program ends; the numbers are those of `sysexits.h`.
struct ExitCode: RawRepresentable, Hashable, Sendable {
    let rawValue: Int32

    static let success = ExitCode(rawValue: 0)
    static let failure = ExitCode(rawValue: 1)
    /// EX_USAGE.
    static let usage = ExitCode(rawValue: 64)
    /// EX_UNAVAILABLE: the origin can't be reached.
    static let unreachable = ExitCode(rawValue: 69)
    /// EX_IOERR: the store or a file failed.
    static let inputOutput = ExitCode(rawValue: 74)

    /// What a shell shows of a program that a signal ended.
    static func signal(_ number: Int32) -> ExitCode { ExitCode(rawValue: 128 + number) }
}

/// Something that ends a command: what to say, and with which code to go.
struct Failure: Error {
    let message: String
    let code: ExitCode

    init(_ message: String, _ code: ExitCode = .failure) {
        self.message = message
        self.code = code
    }
}

extension ExitCode {
    /// The code and the words for whatever a command ended with; no words when there is nobody left to read them.
    static func of(_ error: any Error) -> (code: ExitCode, message: String?) {
        switch error {
        case let error as UsageError: (.usage, error.description)
        case let error as Failure: (error.code, "spool: \(error.message)")
        case let error as CacheError: (of(error), "spool: \(error.message)")
        // Whoever read our output has had enough (`spool ls | head`).
        case let error as SystemError where error.code == EPIPE: (.success, nil)
        case let error as SystemError: (.inputOutput, "spool: \(error)")
        default: (.failure, "spool: \(error)")
        }
    }

    private static func of(_ error: CacheError) -> ExitCode {
        switch error.code {
        case .originUnreachable, .originTimeout, .tlsFailed: .unreachable
        case .store, .storeLocked, .file: .inputOutput
        case .unsupportedURL: .usage
        default: .failure
        }
    }
}
