extension HTTPCase {
    /// Every case, in the order of docs/http.md.
    static let all: [HTTPCase] = freshness + directives + storing + validation + methods + parts
}
