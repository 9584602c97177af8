import SpoolCore
import Testing

/// One requirement of an HTTP specification, as a conversation of a client, the proxy and an
/// origin.
///
/// A case is one line of text, which docs/http.md shows:
///
/// `section | requirement | step ~ step …`
///
/// A step is `+seconds METHOD target [request fields] <request body> -> answer {fields} 'body' = expectations`. Only the
/// method is required, everything else is optional:
///
/// - `+seconds`: the time that passes before the step.
/// - `[…]`, `{…}`: fields, with ` & ` between them. `@-60` is the date 60 seconds before the step.
/// - `-> 200 {…} 'body'`: the origin's answer. Without it, the proxy must not ask the origin.
/// - `-> revalidated {…}`: the origin answers 304 if the conditions match what it sent last, and
///   599 otherwise.
/// - `= …`: expectations, with ` & ` between them: a status, a `'body'`, `Name: value` or
///   `no Name` of the response, `asks Name: value` or `asks no Name` of the request to the origin,
///   `stored 2` for the body of step 2, and `restored`.
///
/// The default expectations are the origin's status and body. For a step without an answer of the
/// origin they are the status and body of the first step.
struct HTTPCase: CustomTestStringConvertible, Sendable {
    let section: String
    let requirement: String
    let conversation: String
    let steps: [Step]

    var testDescription: String { "\(section): \(requirement)" }

    struct Step: Sendable {
        var delay: Int64 = 0
        var method = "GET"
        var target = "/r"
        var fields: [HTTPFields.Field] = []
        var requestBody: String?
        var answer: Answer?
        var expectations: [String] = []
    }

    struct Answer: Sendable {
        /// The status, or nil for a 304 to the right conditions only.
        var status: Int?
        var fields: [HTTPFields.Field] = []
        var body: String?
    }

    /// Reads a case. The text is part of the tests, so a mistake in it ends the test.
    init(_ line: String) {
        var scanner = CaseScanner(line)
        section = scanner.part(upTo: " | ")
        requirement = scanner.part(upTo: " | ")
        conversation = scanner.rest
        steps = conversation.splitBy(" ~ ").map(Self.step)
    }

    private static func step(_ text: String) -> Step {
        var scanner = CaseScanner(text)
        var step = Step()
        if scanner.take("+") { step.delay = Int64(scanner.word())! }
        step.method = scanner.word()
        if scanner.starts(with: "/") { step.target = scanner.word() }
        if scanner.take("[") { step.fields = fields(scanner.part(upTo: "]")) }
        if scanner.take("<") { step.requestBody = scanner.part(upTo: ">") }
        if scanner.take("->") {
            var answer = Answer(status: Int(scanner.word()))
            if scanner.take("{") { answer.fields = fields(scanner.part(upTo: "}")) }
            if scanner.take("'") { answer.body = scanner.part(upTo: "'") }
            step.answer = answer
        }
        if scanner.take("=") { step.expectations = scanner.rest.splitBy(" & ") }
        return step
    }

    private static func fields(_ text: String) -> [HTTPFields.Field] {
        text.splitBy(" & ").filter { !$0.isEmpty }.map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return .init(name: String(parts[0]), value: parts.count > 1 ? String(parts[1].drop { $0 == " " }) : "")
        }
    }
}

/// Reads the text of a case from the left.
private struct CaseScanner {
    private(set) var rest: String

    init(_ text: String) { rest = text.trimmed }

    func starts(with text: String) -> Bool { rest.hasPrefix(text) }

    mutating func take(_ text: String) -> Bool {
        guard rest.hasPrefix(text) else { return false }
        rest = String(rest.dropFirst(text.count)).trimmed
        return true
    }

    mutating func word() -> String { part(upTo: " ") }

    /// Takes the text before `end`, and `end` itself.
    mutating func part(upTo end: String) -> String {
        let pieces = rest.splitBy(end, atMost: 1)
        rest = pieces.count > 1 ? pieces[1].trimmed : ""
        return pieces[0]
    }
}

extension String {
    fileprivate var trimmed: String {
        var text = self[...]
        while text.last == " " || text.last == "\n" { text = text.dropLast() }
        return String(text.drop { $0 == " " || $0 == "\n" })
    }

    fileprivate func splitBy(_ separator: String, atMost: Int = .max) -> [String] {
        var parts: [String] = []
        var rest = self[...]
        while parts.count < atMost, let range = rest.firstRange(of: separator) {
            parts.append(String(rest[..<range.lowerBound]))
            rest = rest[range.upperBound...]
        }
        return parts + [String(rest)]
    }
}
