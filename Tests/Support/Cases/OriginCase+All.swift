internal import SpoolCore
internal import SpoolTesting

extension OriginCase {
    /// Every row, in the order of the research table, followed by the further cases.
    package static let all: [OriginCase] = {
        let rows =
            RangeCases.asked + RangeCases.uninvited + BodyCases.all + NumberCases.all + ValidatorCases.all + RedirectCases.all
            + AnswerCases.all
        func place(_ row: OriginCase) -> Int {
            row.number.hasPrefix("F") ? 100 + (Int(row.number.dropFirst()) ?? 0) : Int(row.number) ?? 0
        }
        return rows.enumerated().sorted { (place($0.element), $0.offset) < (place($1.element), $1.offset) }.map(\.element)
    }()

    /// A fetch that stores its first 30 000 bytes and nothing else.
    static let stored30000: [Step] = [.follow([.shorterRange(maxBytes: 30_000)]), .get(to: 30_000), .follow([.correct])]
}

extension OriginCase.Step {
    /// Returns a step whose first body breaks off after 30 000 bytes, and whose later responses
    /// follow `next`.
    static func broken(_ next: OriginBehaviour = .correct, first: OriginBehaviour = .correct) -> OriginCase.Step {
        .follow([.cut(afterBytes: 30_000, .close, first), next])
    }
}
