import Rangeable
import Testing

@Suite struct `containers of elements` {
    /// Returns a container with bold at 2...7 and 9...11, and italic at 3...8.
    private func styles() throws -> Rangeable<String> {
        var styles = Rangeable<String>()
        try styles.insert("bold", start: 2, end: 5)
        try styles.insert("bold", start: 3, end: 7)
        try styles.insert("bold", start: 9, end: 11)
        try styles.insert("italic", start: 3, end: 8)
        return styles
    }

    private func events(_ events: [TransitionEvent<String>]) -> [String] {
        events.map { "\($0.coordinate.map(String.init) ?? "∞") \($0.kind == .open ? "+" : "-")\($0.element)" }
    }

    // MARK: Insertion

    @Test func `touching intervals of one element merge, and those of two elements do not`() throws {
        var styles = try styles()
        #expect(styles.getRange(of: "bold") == [Interval(lo: 2, hi: 7), Interval(lo: 9, hi: 11)])
        #expect(styles.getRange(of: "italic") == [Interval(lo: 3, hi: 8)])
        try styles.insert("bold", start: 8, end: 8)
        #expect(styles.getRange(of: "bold") == [Interval(lo: 2, hi: 11)])
        #expect(styles.getRange(of: "underline") == [])
    }

    @Test func `an interval that ends before its start is rejected without a change`() throws {
        var styles = try styles()
        let before = styles
        #expect(throws: RangeableError.invalidInterval(start: 5, end: 2)) { try styles.insert("code", start: 5, end: 2) }
        #expect(throws: RangeableError.invalidInterval(start: 5, end: 2)) { try styles.remove("bold", start: 5, end: 2) }
        #expect(throws: RangeableError.invalidInterval(start: 5, end: 2)) { try styles.removeRanges(start: 5, end: 2) }
        #expect(throws: RangeableError.invalidInterval(start: 5, end: 2)) { try styles.transitions(lo: 5, hi: 2) }
        #expect(throws: RangeableError.invalidInterval(start: .max, end: .min)) {
            try styles.insert("code", start: .max, end: .min)
        }
        #expect(styles == before)
        #expect(styles.version == before.version)
        #expect(styles.count == 2)
    }

    @Test func `an interval of one coordinate is active there only`() throws {
        var styles = Rangeable<String>()
        try styles.insert("bold", start: 5, end: 5)
        #expect((4...6).map { styles[$0].count } == [0, 1, 0])
        #expect(events(styles.transitions(over: 0...9)) == ["5 +bold", "6 -bold"])
    }

    // MARK: Order

    @Test func `active elements come in the order of their first insertion`() throws {
        var styles = try styles()
        #expect(styles[4].objs == ["bold", "italic"])
        #expect(styles.activeAt(index: 8).objs == ["italic"])
        #expect(styles[10].objs == ["bold"])
        #expect(styles[-3].isEmpty)
        try styles.insert("code", start: 0, end: 20)
        try styles.insert("bold", start: -5, end: 30)
        #expect(styles[4].objs == ["bold", "italic", "code"])
    }

    @Test func `an element that was removed and inserted again comes last`() throws {
        var styles = try styles()
        styles.remove("bold")
        try styles.insert("bold", start: 0, end: 20)
        #expect(styles[4].objs == ["italic", "bold"])
        #expect(styles.map { $0.0 } == ["italic", "bold"])
    }

    @Test func `an element keeps its place while any of its intervals is left`() throws {
        var styles = try styles()
        try styles.remove("bold", start: 2, end: 10)
        try styles.insert("bold", start: 0, end: 20)
        #expect(styles[4].objs == ["bold", "italic"])
    }

    // MARK: Transitions

    @Test func `openings come before closings, and closings in reverse order of insertion`() throws {
        var styles = Rangeable<String>()
        try styles.insert("bold", start: 0, end: 4)
        try styles.insert("italic", start: 0, end: 4)
        try styles.insert("code", start: 5, end: 9)
        let expected = ["0 +bold", "0 +italic", "5 +code", "5 -italic", "5 -bold", "10 -code"]
        #expect(events(styles.transitions(over: 0...9)) == expected)
        #expect(events(try styles.transitions(lo: 0, hi: 9)) == expected)
    }

    @Test func `transitions over a range omit elements active throughout and include the next coordinate`() throws {
        let styles = try styles()
        #expect(events(styles.transitions(over: 4...7)) == ["8 -bold"])
        #expect(events(styles.transitions(over: 4...6)) == [])
        #expect(events(styles.transitions(over: 7...8)) == ["8 -bold", "9 +bold", "9 -italic"])
        #expect(events(styles.transitions(over: 12...12)) == ["12 -bold"])
        #expect(events(styles.transitions(over: 13...99)) == [])
    }

    // MARK: Extremes

    @Test func `an element active at the last integer closes after every integer`() throws {
        var styles = Rangeable<String>()
        try styles.insert("all", start: .min, end: .max)
        try styles.insert("last", start: .max, end: .max)
        try styles.insert("first", start: .min, end: .min)
        #expect(styles[.min].objs == ["all", "first"])
        #expect(styles[0].objs == ["all"])
        #expect(styles[.max].objs == ["all", "last"])
        #expect(
            events(styles.transitions(over: .min ... .max)) == [
                "\(Int.min) +all", "\(Int.min) +first", "\(Int.min + 1) -first", "\(Int.max) +last", "∞ -last", "∞ -all",
            ])
        // Only the last integer's range includes the event after it.
        #expect(events(styles.transitions(over: 0...(.max - 1))) == ["\(Int.max) +last"])
        #expect(events(styles.transitions(over: .max ... .max)) == ["\(Int.max) +last", "∞ -last", "∞ -all"])
        styles.removeRanges(over: .min ... .max)
        #expect(styles.isEmpty)
    }

    @Test func `neighbours at the ends of the type merge`() throws {
        var styles = Rangeable<String>()
        try styles.insert("a", start: .max, end: .max)
        try styles.insert("a", start: .max - 1, end: .max - 1)
        try styles.insert("a", start: .min, end: .min)
        try styles.insert("a", start: .min + 1, end: .min + 1)
        #expect(styles.getRange(of: "a") == [Interval(lo: .min, hi: .min + 1), Interval(lo: .max - 1, hi: .max)])
        try styles.insert("a", start: .min, end: .max)
        #expect(styles.getRange(of: "a") == [Interval(lo: .min, hi: .max)])
    }

    // MARK: Removal

    @Test func `a removal cuts intervals, and removes the element when none is left`() throws {
        var styles = try styles()
        try styles.remove("bold", start: 4, end: 9)
        #expect(styles.getRange(of: "bold") == [Interval(lo: 2, hi: 3), Interval(lo: 10, hi: 11)])
        styles.remove("bold", over: 0...3)
        try styles.remove("bold", start: 10, end: 11)
        #expect(styles.count == 1)
        #expect(!styles.map { $0.0 }.contains("bold"))
    }

    @Test func `a removal of ranges cuts all elements at once`() throws {
        var styles = try styles()
        try styles.removeRanges(start: 4, end: 9)
        #expect(styles.description == "[bold: [2...3, 10...11], italic: [3...3]]")
        try styles.removeRanges(start: 0, end: 3)
        #expect(styles.description == "[bold: [10...11]]")
        styles.removeAll()
        #expect(styles.isEmpty)
        #expect(styles.description == "[:]")
        #expect(styles.transitions(over: .min ... .max).isEmpty)
    }

    // MARK: Version

    @Test func `the version increases once with each call that changes the container`() throws {
        var styles = try styles()
        func moves(_ change: (inout Rangeable<String>) throws -> Void) rethrows -> Int {
            let before = styles.version
            try change(&styles)
            return styles.version - before
        }
        #expect(try moves { try $0.insert("bold", start: 2, end: 7) } == 0)
        #expect(try moves { try $0.insert("bold", start: 3, end: 4) } == 0)
        #expect(try moves { try $0.insert("bold", start: 0, end: 20) } == 1)
        #expect(try moves { try $0.remove("bold", start: 50, end: 60) } == 0)
        #expect(moves { $0.remove("code") } == 0)
        #expect(try moves { try $0.removeRanges(start: 50, end: 60) } == 0)
        #expect(try moves { try $0.removeRanges(start: 3, end: 4) } == 1)
        #expect(moves { $0.formUnion($0) } == 0)
        #expect(moves { $0.formIntersection($0) } == 0)
        #expect(moves { $0.subtract(Rangeable()) } == 0)
        #expect(moves { $0.formSymmetricDifference(Rangeable()) } == 0)
        #expect(moves { $0.formSymmetricDifference($0) } == 1)
        #expect(moves { $0.removeAll() } == 0)
        #expect(try moves { try $0.insert("bold", start: 0, end: 1) } == 1)
        #expect(moves { $0.removeAll() } == 1)
    }

    @Test func `the result of a set operation is a new container at version 0`() throws {
        let styles = try styles(), other = styles.intersection(styles)
        #expect(styles.copy().version == styles.version)
        for result in [styles.union(other), other, styles.subtracting(other), styles.symmetricDifference(other)] {
            #expect(result.version == 0)
        }
        #expect(styles.subtracting(other).isEmpty)
    }

    // MARK: Values

    @Test func `a copy and its original change independently`() throws {
        var original = try styles()
        let before = original
        var copy = original.copy()
        try copy.insert("code", start: 0, end: 99)
        copy.remove("italic")
        #expect(original == before)
        #expect(original[4].objs == ["bold", "italic"])
        #expect(copy[4].objs == ["bold", "code"])
        original.removeAll()
        #expect(copy[4].objs == ["bold", "code"])
        #expect(before.transitions(over: 0...20).count == 6)
    }

    @Test func `equality compares elements, order and intervals`() throws {
        var a = Rangeable<String>(), b = a
        try a.insert("x", start: 0, end: 9)
        try b.insert("x", start: 5, end: 9)
        #expect(a != b)
        try b.insert("x", start: 0, end: 4)
        #expect(a == b)
        try a.insert("y", start: 0, end: 0)
        var c = Rangeable<String>()
        try c.insert("y", start: 0, end: 0)
        c.formUnion(b)
        #expect(a != c)
    }

    @Test func `many inserted and removed elements leave no trace`() throws {
        var container = Rangeable<Int>()
        for number in 0..<2000 {
            try container.insert(number, start: number, end: number + 3)
            if number >= 3 { container.remove(number - 3) }
            if number % 500 == 0 { container.checkInvariants() }
        }
        #expect(container.map { $0.0 } == [1997, 1998, 1999])
        #expect(container[1999].objs == [1997, 1998, 1999])
    }
}
