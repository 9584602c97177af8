import SpoolCore
import Testing

/// The requests that a stored response answers (RFC 9111 §4.1, §3.5).
@Suite struct VariantMarkTests {
    private static let origin = URIReference.Origin(of: "https://media.example/")

    private func client(_ fields: HTTPFields, nonce: UInt64 = 0, isShared: Bool = true) -> ClientSelection {
        ClientSelection(RequestFields(selected: fields, origin: Self.origin), nonce: nonce, isShared: isShared) { "<\($0)>" }
    }

    /// The verdict about a response that was fetched by one request, for another one.
    private func verdict(
        _ response: HTTPFields, fetchedBy first: HTTPFields?, for second: HTTPFields, isShared: Bool = false
    ) -> VariantMark.Verdict {
        let mark = VariantMark(of: response, for: first.map { client($0, nonce: 1, isShared: isShared) }, isShared: isShared)
        return mark?.verdict(for: client(second, nonce: 2, isShared: isShared)) ?? .use
    }

    // MARK: Vary

    struct VaryCase: CustomTestStringConvertible, Sendable {
        var vary: String
        var first: HTTPFields
        var second: HTTPFields
        var verdict: VariantMark.Verdict
        var testDescription: String { "\(vary): \(first.lines.map(\.value)), \(second.lines.map(\.value))" }
    }

    @Test(arguments: [
        VaryCase(vary: "User-Agent", first: ["User-Agent": "a"], second: ["User-Agent": "a"], verdict: .use),
        VaryCase(vary: "User-Agent", first: ["User-Agent": "a"], second: ["User-Agent": "A"], verdict: .other),
        VaryCase(vary: "user-agent", first: ["User-Agent": "a"], second: ["User-Agent": "b"], verdict: .other),
        VaryCase(vary: "User-Agent", first: ["User-Agent": "a"], second: [:], verdict: .other),
        VaryCase(vary: "User-Agent", first: [:], second: [:], verdict: .use),
        VaryCase(vary: "User-Agent", first: [:], second: ["User-Agent": ""], verdict: .other),
        VaryCase(vary: "X-A, X-B", first: ["X-A": "1", "X-B": "2"], second: ["X-B": "2", "X-A": "1"], verdict: .use),
        VaryCase(vary: "X-A", first: ["X-A": "1, 2"], second: ["X-A": "1 ,2"], verdict: .use),
        VaryCase(vary: "X-A", first: ["X-A": "1, 2"], second: ["X-A": "2, 1"], verdict: .other),
        VaryCase(vary: "X-A", first: ["X-A": "\"1, 2\""], second: ["X-A": "\"1,2\""], verdict: .other),
        VaryCase(
            vary: "Accept-Language", first: ["Accept-Language": "en, de;q=0.5"], second: ["accept-language": "DE; q=0.5,en"], verdict: .use),
        VaryCase(vary: "Accept-Language", first: ["Accept-Language": "en"], second: ["Accept-Language": "de"], verdict: .other),
        // Neither splits bytes.
        VaryCase(vary: "Accept-Encoding", first: ["X": "1"], second: [:], verdict: .use),
        VaryCase(vary: "Origin, Accept-Encoding", first: [:], second: [:], verdict: .use),
        VaryCase(vary: "Range, Icy-MetaData", first: [:], second: [:], verdict: .use),
        // One request alone.
        VaryCase(vary: "*", first: [:], second: [:], verdict: .other),
        VaryCase(vary: "Accept , *", first: ["Accept": "a"], second: ["Accept": "a"], verdict: .other),
    ]) func `a response answers requests with equal selecting fields`(row: VaryCase) {
        #expect(verdict(["Vary": row.vary], fetchedBy: row.first, for: row.second) == row.verdict)
    }

    @Test func `several lines of a selecting field are one list`() {
        let lines = HTTPFields([.init(name: "X-A", value: "1"), .init(name: "x-a", value: "2")])
        #expect(verdict(["Vary": "X-A"], fetchedBy: lines, for: ["X-A": "1,2"]) == .use)
    }

    @Test func `the request that Vary star answered is still answered`() throws {
        let asker = client([:], nonce: 7)
        let mark = try #require(VariantMark(of: ["Vary": "*"], for: asker, isShared: false))
        #expect(mark.verdict(for: asker) == .use)
        #expect(mark.verdict(for: client([:], nonce: 8)) == .other)
        var opened = mark
        opened.admit(client([:], nonce: 8))
        #expect(opened == mark)
    }

    /// A version from before a restart of an earlier program: the request is not known.
    @Test func `a response whose request is not known answers only requests without its selecting fields`() {
        #expect(verdict(["Vary": "User-Agent"], fetchedBy: nil, for: [:]) == .use)
        #expect(verdict(["Vary": "User-Agent"], fetchedBy: nil, for: ["User-Agent": "a"]) == .ask)
        #expect(verdict(["Vary": "Cookie"], fetchedBy: nil, for: ["Cookie": "a"]) == .ask)
        #expect(verdict(["Vary": "*"], fetchedBy: nil, for: [:]) == .other)
        #expect(verdict(["Vary": "Origin"], fetchedBy: nil, for: ["User-Agent": "a"]) == .use)
    }

    // MARK: Credentials

    struct UserCase: CustomTestStringConvertible, Sendable {
        var response: HTTPFields
        var first: HTTPFields
        var second: HTTPFields
        var one: VariantMark.Verdict
        var many: VariantMark.Verdict
        var testDescription: String { "\(response.lines), \(first.lines.map(\.value)), \(second.lines.map(\.value))" }
    }

    private static let a: HTTPFields = ["Authorization": "a"], b: HTTPFields = ["Authorization": "b"]
    private static let cookieA: HTTPFields = ["Cookie": "a"], cookieB: HTTPFields = ["Cookie": "b"]

    @Test(arguments: [
        UserCase(response: [:], first: [:], second: a, one: .use, many: .use),
        UserCase(response: [:], first: a, second: a, one: .use, many: .use),
        UserCase(response: [:], first: a, second: b, one: .use, many: .ask),
        UserCase(response: [:], first: a, second: [:], one: .use, many: .ask),
        UserCase(response: [:], first: cookieA, second: cookieB, one: .use, many: .ask),
        UserCase(response: [:], first: ["X-Api-Key": "a"], second: [:], one: .use, many: .ask),
        UserCase(response: [:], first: ["User-Agent": "a"], second: ["User-Agent": "b"], one: .use, many: .use),
        UserCase(response: ["Cache-Control": "public"], first: a, second: b, one: .use, many: .use),
        UserCase(response: ["Cache-Control": "s-maxage=5"], first: a, second: [:], one: .use, many: .use),
        // One user's field does not choose the bytes of all others, unless `Vary` leaves it out.
        UserCase(response: ["Cache-Control": "public"], first: ["X-Url-Host": "evil"], second: [:], one: .use, many: .other),
        UserCase(response: ["Cache-Control": "s-maxage=5"], first: ["X-Url-Host": "evil"], second: a, one: .use, many: .other),
        UserCase(
            response: ["Cache-Control": "public"], first: ["X-Url-Host": "a", "Cookie": "a"], second: ["X-Url-Host": "a", "Cookie": "b"],
            one: .use, many: .use),
        UserCase(response: ["Cache-Control": "public"], first: [:], second: ["X-Url-Host": "evil"], one: .use, many: .use),
        UserCase(
            response: ["Cache-Control": "public", "Vary": "Accept"], first: ["X-Url-Host": "a"], second: ["X-Url-Host": "b"], one: .use,
            many: .use),
        // `Vary` states that a field of unknown meaning leaves the response alone. A field that
        // looks like credentials counts all the same.
        UserCase(response: [:], first: ["X-Request": "1"], second: ["X-Request": "2"], one: .use, many: .ask),
        UserCase(response: ["Vary": "Accept"], first: ["X-Request": "1"], second: ["X-Request": "2"], one: .use, many: .use),
        UserCase(response: ["Vary": "Accept"], first: ["X-Request": "1"], second: [:], one: .use, many: .use),
        UserCase(
            response: ["Vary": "Accept"], first: ["X-Request": "1", "X-Token": "a"], second: ["X-Request": "2", "X-Token": "a"], one: .use,
            many: .use),
        UserCase(response: ["Vary": "Accept"], first: ["X-Token": "a"], second: ["X-Token": "b"], one: .use, many: .ask),
        UserCase(response: ["Vary": "Accept"], first: a, second: [:], one: .use, many: .ask),
        UserCase(response: ["Vary": "X-Request"], first: ["X-Request": "1"], second: ["X-Request": "2"], one: .other, many: .other),
        UserCase(response: ["Cache-Control": "must-revalidate"], first: a, second: b, one: .use, many: .ask),
        UserCase(response: ["Cache-Control": "private"], first: a, second: b, one: .ask, many: .other),
        UserCase(response: ["Cache-Control": "private"], first: a, second: a, one: .use, many: .other),
        UserCase(response: ["Cache-Control": "no-cache"], first: a, second: b, one: .ask, many: .ask),
        UserCase(response: ["Cache-Control": "no-cache=\"X\""], first: a, second: b, one: .use, many: .ask),
        UserCase(response: ["Vary": "Cookie"], first: cookieA, second: cookieB, one: .ask, many: .ask),
        UserCase(response: ["Vary": "Cookie"], first: cookieA, second: [:], one: .ask, many: .ask),
        UserCase(response: ["Vary": "Cookie"], first: [:], second: cookieA, one: .ask, many: .ask),
        UserCase(response: ["Vary": "Cookie"], first: [:], second: [:], one: .use, many: .use),
        UserCase(response: ["Vary": "Authorization", "Cache-Control": "public"], first: a, second: b, one: .ask, many: .ask),
        UserCase(
            response: ["Vary": "User-Agent, Cookie"], first: ["User-Agent": "x", "Cookie": "a"],
            second: ["User-Agent": "y", "Cookie": "a"], one: .other, many: .other),
    ]) func `credentials decide who may use stored bytes`(row: UserCase) {
        #expect(verdict(row.response, fetchedBy: row.first, for: row.second) == row.one)
        #expect(verdict(row.response, fetchedBy: row.first, for: row.second, isShared: true) == row.many)
    }

    @Test func `a stored refusal answers the refused credentials and no others`() throws {
        let response: HTTPFields = ["Cache-Control": "public, max-age=60"]
        for first in [[:], Self.a] as [HTTPFields] {
            let mark = try #require(VariantMark(of: response, isRefusal: true, for: client(first, isShared: false), isShared: false))
            #expect(mark.verdict(for: client(first)) == .use)
            #expect(mark.verdict(for: client(Self.b)) == .ask)
        }
    }

    @Test func `a response that everybody may have has no mark`() {
        #expect(VariantMark(of: ["Vary": "Accept-Encoding"], for: client(["User-Agent": "a"]), isShared: true) == nil)
        #expect(VariantMark(of: ["Cache-Control": "public"], for: client(Self.a), isShared: true) == nil)
    }

    // MARK: Admitting

    @Test func `the origin's confirmation admits a request, and the list is bounded`() throws {
        var mark = try #require(
            VariantMark(of: ["Vary": "User-Agent", "Cache-Control": "private"], for: client(Self.a, isShared: false), isShared: false))
        for number in 0..<(2 * VariantMark.userLimit) {
            let next = client(["Authorization": "\(number)", "User-Agent": "\(number)"], isShared: false)
            #expect(mark.verdict(for: next) == .other)
            mark.admit(next)
            #expect(mark.verdict(for: next) == .use)
        }
        #expect(mark.users.count == VariantMark.userLimit && mark.values.count == VariantMark.valueLimit)
        #expect(mark.verdict(for: client(Self.a)) == .other)
    }

    @Test func `a confirmation for one user keeps the others, and never closes what was open to everybody`() throws {
        let ofA = try #require(VariantMark(of: [:], for: client(Self.a), isShared: true))
        let ofB = try #require(VariantMark(of: [:], for: client(Self.b), isShared: true))
        let both = try #require(VariantMark.merged(ofA, with: ofB))
        for user in [Self.a, Self.b] { #expect(both.verdict(for: client(user)) == .use) }
        #expect(both.verdict(for: client([:])) == .ask)
        #expect(VariantMark.merged(nil, with: ofB) == nil)
        #expect(VariantMark.merged(ofA, with: nil) == nil)
        let varied = try #require(VariantMark(of: ["Vary": "X"], for: client([:]), isShared: true))
        #expect(VariantMark.merged(ofA, with: varied) == varied)
        #expect(VariantMark.merged(nil, with: varied) == varied)
        // A version that the origin confirms without credentials is open to every client.
        let variedOfA = try #require(VariantMark(of: ["Vary": "X"], for: client(Self.a), isShared: true))
        #expect(VariantMark.merged(variedOfA, with: varied)?.users == [])
    }

    @Test func `an admitted user of a response with Vary may send other fields of unknown meaning`() throws {
        var mark = try #require(VariantMark(of: ["Vary": "Accept"], for: client(Self.a), isShared: true))
        mark.admit(client(["Authorization": "b", "X-Request": "1"]))
        let again = client(["Authorization": "b", "X-Request": "2"])
        #expect(mark.verdict(for: again) == .use && mark.verdict(for: client(["X-Request": "1"])) == .ask)
        mark.revoke(again)
        #expect(mark.verdict(for: client(["Authorization": "b", "X-Request": "1"])) == .ask && mark.verdict(for: client(Self.a)) == .use)
        // A mark of a response without `Vary` names one user and all other fields.
        let plain = try #require(VariantMark(of: [:], for: client(Self.a), isShared: true))
        #expect(plain.verdict(for: client(["Authorization": "a", "X-Request": "1"])) == .ask)
    }

    @Test func `a version that becomes personal is open to everybody no longer`() throws {
        let personal = try #require(VariantMark(of: ["Vary": "Cookie"], for: client(Self.cookieA), isShared: true))
        #expect(VariantMark.merged(nil, with: personal) == personal)
    }

    // MARK: The index

    @Test func `a mark survives the index, and a line that cannot be read answers nobody`() throws {
        let digest = { @Sendable (text: String) in String(text.utf8.reduce(7) { $0 &* 31 &+ UInt64($1) }, radix: 16) }
        let fields: HTTPFields = ["User-Agent": "x;y", "Cookie": "a=1;b", "X-A": "\u{1}"]
        let client = ClientSelection(RequestFields(selected: fields, origin: Self.origin), nonce: 3, isShared: true, digest: digest)
        for response: HTTPFields in [["Vary": "User-Agent, X-A"], ["Vary": "Cookie"], ["Cache-Control": "private"], [:], ["Vary": "*"]] {
            let mark = try #require(VariantMark(of: response, for: client, isShared: true))
            #expect(VariantMark(text: mark.text) == mark)
            #expect(!mark.text.contains("a=1"))
        }
        for text in ["", ";;;", "x", "a;b", ";;;p", "\u{0};", "a;b;c;d;e"] {
            #expect(VariantMark(text: text).verdict(for: client) == .other, "\(text)")
        }
    }
}
