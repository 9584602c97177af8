package import SpoolCore

/// The content coding gzip (RFC 1952), for documents in memory.
///
/// Some servers send a playlist in this coding unasked, or with the name of another one. Transports
/// decode only answers to requests that asked for a coding.
package enum Gzip {
    /// Whether the bytes begin as the coding does.
    package static func begins(_ bytes: some RandomAccessCollection<UInt8>) -> Bool { bytes.starts(with: [0x1F, 0x8B, 0x08]) }

    /// Returns the decoded bytes of a document.
    ///
    /// - Parameter maxBytes: The most bytes of the result, so that a small document can't fill the
    ///   memory.
    /// - Throws: `ParseError` for damaged bytes, and for a result beyond the bound.
    /// - Complexity: O(*n* + *m*), *m* being the bytes of the result.
    package static func decoded(_ bytes: [UInt8], maxBytes: Int) throws(ParseError) -> [UInt8] {
        var inflater = Inflater(bytes, maxBytes: maxBytes)
        repeat { try inflater.readMember() } while begins(bytes[inflater.position...])
        return inflater.output
    }
}

/// Decodes the members of a document: a head, compressed blocks (RFC 1951) and a trailer.
private struct Inflater {
    private(set) var position = 0
    private(set) var output: [UInt8] = []
    private let input: [UInt8]
    private let maxBytes: Int
    /// The bits of the last byte that were not read yet, and their number.
    private var bits: (value: Int, count: Int) = (0, 0)

    init(_ input: [UInt8], maxBytes: Int) {
        (self.input, self.maxBytes) = (input, maxBytes)
    }

    private func damaged() -> ParseError { ParseError(offset: position, expected: "bytes in gzip") }

    mutating func readMember() throws(ParseError) {
        try skipHead()
        let start = output.count
        while try !readBlock() {}
        bits = (0, 0)
        // The checksum is left to TCP and TLS. The length reveals a document that was cut.
        try skip(4)
        var length = 0
        for shift in [0, 8, 16, 24] { length |= try Int(byte()) << shift }
        guard length == (output.count - start) & 0xFFFF_FFFF else { throw damaged() }
    }

    private mutating func skipHead() throws(ParseError) {
        try skip(3)
        let flags = try byte()
        try skip(6)
        if flags & 4 != 0 { try skip(Int(byte()) | Int(byte()) << 8) }
        // The name and the comment, which end with a zero.
        for flag in [8, 16] as [UInt8] where flags & flag != 0 { while try byte() != 0 {} }
        if flags & 2 != 0 { try skip(2) }
    }

    // MARK: Blocks

    /// - Returns: Whether the block is the last one.
    private mutating func readBlock() throws(ParseError) -> Bool {
        let isLast = try take(1) == 1
        switch try take(2) {
        case 0: try copyStored()
        case 1: try decode(literals: .fixedLiterals, distances: .fixedDistances)
        case 2: try decodeDynamic()
        default: throw damaged()
        }
        return isLast
    }

    private mutating func copyStored() throws(ParseError) {
        bits = (0, 0)
        let length = try Int(byte()) | Int(byte()) << 8
        try skip(2)
        guard length <= input.count - position else { throw damaged() }
        try reserve(length)
        output += input[position..<position + length]
        position += length
    }

    /// Reads a block that begins with its own codes (RFC 1951 §3.2.7).
    private mutating func decodeDynamic() throws(ParseError) {
        let literalCount = try take(5) + 257, distanceCount = try take(5) + 1, lengthCount = try take(4) + 4
        var lengths = [Int](repeating: 0, count: Self.order.count)
        for place in Self.order.prefix(lengthCount) { lengths[place] = try take(3) }
        let code = HuffmanCode(lengths[...])
        lengths = []
        while lengths.count < literalCount + distanceCount {
            let symbol = try read(code)
            switch symbol {
            case 16:
                guard let last = lengths.last else { throw damaged() }
                lengths += try repeatElement(last, count: take(2) + 3)
            case 17: lengths += try repeatElement(0, count: take(3) + 3)
            case 18: lengths += try repeatElement(0, count: take(7) + 11)
            default: lengths.append(symbol)
            }
        }
        guard lengths.count == literalCount + distanceCount else { throw damaged() }
        try decode(literals: HuffmanCode(lengths[..<literalCount]), distances: HuffmanCode(lengths[literalCount...]))
    }

    private static let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

    private mutating func decode(literals: HuffmanCode, distances: HuffmanCode) throws(ParseError) {
        while true {
            let symbol = try read(literals)
            if symbol == 256 { return }
            guard symbol > 256 else {
                try reserve(1)
                output.append(UInt8(symbol))
                continue
            }
            let length = try value(symbol - 257, Self.lengths), distance = try value(read(distances), Self.distances)
            guard distance <= output.count else { throw damaged() }
            try reserve(length)
            // The copy may read bytes that it has just written.
            for _ in 0..<length { output.append(output[output.count - distance]) }
        }
    }

    /// The values of length symbols, and of distance symbols: the smallest one and the number of
    /// bits to add (RFC 1951 §3.2.5).
    private static let lengths = ranges(from: 3, bits: [0, 0, 0, 0] + (0..<24).map { $0 / 4 }) + [(258, 0)]
    private static let distances = ranges(from: 1, bits: [0, 0] + (0..<28).map { $0 / 2 })

    private static func ranges(from start: Int, bits: [Int]) -> [(first: Int, bits: Int)] {
        var next = start
        return bits.map { bits in
            defer { next += 1 << bits }
            return (next, bits)
        }
    }

    private mutating func value(_ symbol: Int, _ ranges: [(first: Int, bits: Int)]) throws(ParseError) -> Int {
        guard symbol < ranges.count else { throw damaged() }
        return try ranges[symbol].first + take(ranges[symbol].bits)
    }

    private func reserve(_ count: Int) throws(ParseError) {
        guard count <= maxBytes - output.count else { throw ParseError(offset: position, limit: "at most \(maxBytes) bytes behind gzip") }
    }

    // MARK: Bits and bytes

    private mutating func byte() throws(ParseError) -> UInt8 {
        guard position < input.count else { throw damaged() }
        defer { position += 1 }
        return input[position]
    }

    private mutating func skip(_ count: Int) throws(ParseError) {
        guard count <= input.count - position else { throw damaged() }
        position += count
    }

    /// Reads a number of at most 13 bits, the lowest one first.
    private mutating func take(_ count: Int) throws(ParseError) -> Int {
        while bits.count < count {
            bits.value |= try Int(byte()) << bits.count
            bits.count += 8
        }
        defer { bits = (bits.value >> count, bits.count - count) }
        return bits.value & (1 << count - 1)
    }

    /// Reads a symbol.
    private mutating func read(_ code: HuffmanCode) throws(ParseError) -> Int {
        var word = 0, first = 0, index = 0
        for count in code.counts {
            word |= try take(1)
            if word < first + count { return code.symbols[index + word - first] }
            index += count
            first = (first + count) << 1
            word <<= 1
        }
        throw damaged()
    }
}

/// A prefix code, which is given by the lengths of its words (RFC 1951 §3.2.2).
private struct HuffmanCode {
    /// The longest word, in bits.
    private static let maxLength = 15

    /// The number of words of each length, from 1 on.
    let counts: [Int]
    /// The symbols in the order of their words.
    let symbols: [Int]

    init(_ lengths: ArraySlice<Int>) {
        counts = (1...Self.maxLength).map { length in lengths.count { $0 == length } }
        let places = (1...Self.maxLength).flatMap { length in lengths.indices.filter { lengths[$0] == length } }
        symbols = places.map { $0 - lengths.startIndex }
    }

    static let fixedLiterals = HuffmanCode((0..<288).map { $0 < 144 || $0 > 279 ? 8 : $0 < 256 ? 9 : 7 }[...])
    static let fixedDistances = HuffmanCode([Int](repeating: 5, count: 30)[...])
}
