import SpoolCore
import Testing

@Suite struct `entity tags` {
    // The table of RFC 9110 §8.8.3.2.
    @Test(arguments: [
        (#"W/"1""#, #"W/"1""#, false, true),
        (#"W/"1""#, #"W/"2""#, false, false),
        (#"W/"1""#, #""1""#, false, true),
        (#""1""#, #""1""#, true, true),
    ])
    func `entity tags compare as the table of RFC 9110 requires`(a: String, b: String, strongly: Bool, weakly: Bool) throws {
        let (a, b) = (try #require(EntityTag(a)), try #require(EntityTag(b)))
        #expect(a.matchesStrongly(b) == strongly)
        #expect(b.matchesStrongly(a) == strongly)
        #expect(a.matchesWeakly(b) == weakly)
        #expect(b.matchesWeakly(a) == weakly)
    }

    @Test(arguments: [
        (#""xyzzy""#, #""xyzzy""#, false), (#"W/"xyzzy""#, #""xyzzy""#, true), (#""""#, #""""#, false),
        // Other forms that origins send: every octet is kept.
        ("abc", "abc", false), ("two words", "two words", false), (#"w/"x""#, #""x""#, true), (#""half"#, #""half"#, false),
        ("W/abc", "abc", true), (#""a\"b""#, #""a\"b""#, false),
    ])
    func `an entity tag keeps the octets that were sent`(value: String, opaque: String, isWeak: Bool) throws {
        let tag = try #require(EntityTag(value))
        #expect(tag.opaque == opaque)
        #expect(tag.isWeak == isWeak)
    }

    @Test(arguments: ["", "W/", "\"é\"", "\"\u{FFFD}\"", "\"a\r\nX: y\"", "\"\u{0}\""])
    func `an empty or unsendable entity tag is ignored`(value: String) {
        #expect(EntityTag(value) == nil)
    }

    @Test func `an entity tag over eight kibibytes is ignored`() {
        #expect(EntityTag(String(repeating: "a", count: 8192)) != nil)
        #expect(EntityTag(String(repeating: "a", count: 8193)) == nil)
    }

    @Test(arguments: [
        (#""xyzzy""#, true), (#"W/"xyzzy""#, true), (#""a", "xyzzy", "b""#, true), (#""a","b""#, false), ("*", true), (" * ", true),
        (#""x,y", "xyzzy""#, true), ("xyzzy", false), ("", false), (",,,", false), (#""xyzzy"#, false), (#"*, "a""#, false),
        (#""a" "xyzzy""#, false),
    ])
    func `an entity tag is found in a list`(list: String, matches: Bool) {
        #expect(EntityTagCondition(list).matches(EntityTag(#""xyzzy""#)) == matches)
    }

    @Test func `an entity tag may contain commas inside its quotes`() {
        #expect(EntityTagCondition(#""a,b" , W/"c\""#) == .tags([EntityTag(#""a,b""#)!, EntityTag(#"W/"c\""#)!]))
    }

    @Test func `entity tags after the sixty-fourth match nothing`() {
        let list = (0...64).map { "\"\($0)\"" }.joined(separator: ", ")
        #expect(EntityTagCondition(list).matches(EntityTag("\"63\"")))
        #expect(!EntityTagCondition(list).matches(EntityTag("\"64\"")))
    }

    @Test func `mutated entity tags never trap and survive a round trip`() {
        mutate([#""xyzzy""#, #"W/"xyzzy", "r2d2xxxx", "c3piozzzz""#, "*"]) { value in
            if let tag = EntityTag(value) { #expect(EntityTag(tag.fieldValue) == tag, "\(value)") }
            guard case .tags(let tags) = EntityTagCondition(value) else { return }
            #expect(tags.count <= EntityTagCondition.maxTags)
        }
    }
}
