import SpoolCore

/// Stored ranges as a bar of characters. Each character stands for an equal part of the resource.
struct SpanBar {
    /// The characters for a part with no byte stored, less than half, at least half, and all.
    struct Glyphs {
        let none: Character, little: Character, much: Character, all: Character

        static let blocks = Glyphs(none: "░", little: "▒", much: "▓", all: "█")
        static let ascii = Glyphs(none: ".", little: "-", much: "+", all: "#")
        static var preferred: Glyphs { Environment.isUnicode ? .blocks : .ascii }
    }

    let stored: ByteRangeSet
    let length: Int64
    var glyphs = Glyphs.preferred

    /// Returns the bar in `width` characters.
    ///
    /// - Complexity: O(*width* + number of ranges).
    func text(width: Int) -> String {
        let width = max(1, width)
        guard length > 0 else { return String(repeating: glyphs.all, count: width) }
        let ranges = stored.ranges
        var next = 0
        var text = ""
        for cell in 0..<width {
            let lower = offset(cell, of: width), upper = max(lower + 1, offset(cell + 1, of: width))
            // Ranges that end before this cell do not matter for it or for later cells.
            while next < ranges.count && ranges[next].upperBound <= lower { next += 1 }
            var bytes: Int64 = 0
            var index = next
            while index < ranges.count && ranges[index].lowerBound < upper {
                if let shared = ByteRange(lower, upper)?.intersection(ranges[index]) { bytes = bytes.addingSaturated(shared.count) }
                index += 1
            }
            text.append(glyph(bytes, of: upper - lower))
        }
        return text
    }

    private func offset(_ cell: Int, of width: Int) -> Int64 {
        // Full width, because the product of a length and a column may not fit 64 bits.
        let product = length.multipliedFullWidth(by: Int64(cell))
        return Int64(width).dividingFullWidth(product).quotient
    }

    private func glyph(_ bytes: Int64, of whole: Int64) -> Character {
        switch bytes {
        case 0: glyphs.none
        case whole...: glyphs.all
        default: bytes >= whole.subtractingSaturated(bytes) ? glyphs.much : glyphs.little
        }
    }
}
