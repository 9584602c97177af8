import Rangeable
import Testing

struct RangeableElementTests {
    struct Style: RangeableElement {
        var name: String
    }

    @Test func `an element returns its own intervals in a container`() throws {
        let bold = Style(name: "bold")
        var styles = Rangeable<Style>()
        #expect(bold.getRange(from: styles) == [])
        try styles.insert(bold, start: 2, end: 5)
        try styles.insert(Style(name: "italic"), start: 3, end: 9)
        try styles.insert(bold, start: 6, end: 7)
        #expect(bold.getRange(from: styles) == [Interval(lo: 2, hi: 7)])
    }
}
