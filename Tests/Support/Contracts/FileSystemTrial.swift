import SpoolSystem
import SpoolTesting

/// Collects the ways in which a file system differs from its contract.
struct FileSystemTrial {
    /// The rule that is being tried.
    var rule = ""
    var violations: [ContractViolation] = []

    mutating func fail(_ detail: String) {
        violations.append(ContractViolation(rule, detail))
    }

    mutating func isTrue(_ value: Bool, _ claim: String) {
        if !value { fail("not so: \(claim)") }
    }

    mutating func equal<Value: Equatable>(_ found: Value, _ expected: Value, _ claim: String) {
        if found != expected { fail("not so: \(claim) (found \(found), expected \(expected))") }
    }

    mutating func succeeds(_ action: String, _ body: () throws(SystemError) -> Void) {
        do throws(SystemError) {
            try body()
        } catch {
            fail("could not \(action): \(error)")
        }
    }

    /// Expects `body` to fail with the errno `code`, or with any errno if `code` is nil, because
    /// systems differ.
    mutating func fails(_ code: Int32?, _ action: String, _ body: () throws(SystemError) -> Void) {
        do throws(SystemError) {
            try body()
            fail("it should not be possible to \(action)")
        } catch {
            if let code, error.code != code {
                fail("to \(action) should fail with errno \(code), not with \(error)")
            }
        }
    }
}
