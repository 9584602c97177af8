import SpoolTesting

/// A parsed body of type multipart/byteranges.
struct Multipart {
    var ranges: [Range<Int>] = []
    var totals: [Int] = []
    var types: [String] = []
    var bodies: [[UInt8]] = []

    /// - Returns: nil when the body is not of that type.
    init?(_ answer: ProxyClient.Answer) {
        let type = answer["Content-Type"] ?? ""
        guard type.hasPrefix("multipart/byteranges; boundary=") else { return nil }
        let boundary = type.dropFirst("multipart/byteranges; boundary=".count)
        var rest = answer.body[...]
        func take(_ text: String) -> Bool {
            guard rest.starts(with: text.utf8) else { return false }
            rest = rest.dropFirst(text.utf8.count)
            return true
        }
        guard take("--\(boundary)") else { return nil }
        while take("\r\n") {
            guard let part = Self.head(&rest) else { return nil }
            ranges.append(part.range)
            totals.append(part.total)
            types.append(part.type)
            bodies.append(Array(rest.prefix(part.range.count)))
            rest = rest.dropFirst(part.range.count)
            guard take("\r\n--\(boundary)") else { return nil }
        }
        guard take("--\r\n"), rest.isEmpty else { return nil }
    }

    private static func head(_ rest: inout ArraySlice<UInt8>) -> (range: Range<Int>, total: Int, type: String)? {
        var type = "", range: Range<Int>?, total = 0
        while let end = rest.firstIndex(of: 10) {
            let line = String(decoding: rest[rest.startIndex..<end], as: UTF8.self)
            rest = rest[(end + 1)...]
            if line == "\r" || line == "\r\n" || line.isEmpty { break }
            if line.hasPrefix("Content-Type: ") { type = line.dropFirst(14).filter { $0 != "\r" } }
            guard line.hasPrefix("Content-Range: bytes ") else { continue }
            let numbers = line.dropFirst(21).split { !$0.isNumber }.compactMap { Int($0) }
            guard numbers.count == 3 else { return nil }
            range = numbers[0]..<numbers[1] + 1
            total = numbers[2]
        }
        return range.map { ($0, total, type) }
    }
}
