import SpoolCore

/// The values of a property list, as a table.
///
/// A value inside another one is a number into the table. A value that several others share is in
/// the table once, so a small file cannot grow into a large tree.
package struct ArchiveTable: Sendable {
    /// One value.
    package enum Value: Hashable, Sendable {
        case null
        case bool(Bool)
        case integer(Int64)
        case real(Double)
        case text(String)
        /// Bytes, a date, or an integer above 64 bits, which no index needs.
        case other
        /// A reference of `NSKeyedArchiver`: a number into its list of objects.
        case reference(Int)
        case array([Int])
        case dictionary([String: Int])
    }

    /// All values.
    package private(set) var values: [Value]
    /// The number of the value that contains the others.
    package let root: Int

    /// Creates a table.
    ///
    /// - Precondition: Each number in an array or a dictionary is one of a value of the table.
    /// - Throws: `ParseError` if values contain each other in a circle, or nest too deeply.
    init(_ values: [Value], root: Int, depth: Int) throws(ParseError) {
        self.values = values
        self.root = root
        try checkNesting(depth)
    }

    /// The value with this number.
    package subscript(index: Int) -> Value { values[index] }

    /// Follows every value from the root on, with a stack of its own: a circle would never end.
    private func checkNesting(_ limit: Int) throws(ParseError) {
        enum Mark { case new, open, done }
        var marks = [Mark](repeating: .new, count: values.count)
        var open: [(value: Int, inner: [Int], next: Int)] = []
        func enter(_ value: Int) throws(ParseError) {
            guard open.count < limit else { throw ParseError(offset: 0, expected: "at most \(limit) levels of values") }
            marks[value] = .open
            open.append((value, values[value].inner, 0))
        }
        try enter(root)
        while let top = open.last {
            guard top.next < top.inner.count else {
                marks[top.value] = .done
                open.removeLast()
                continue
            }
            open[open.count - 1].next += 1
            let inner = top.inner[top.next]
            switch marks[inner] {
            case .open: throw ParseError(offset: 0, expected: "values that do not contain themselves")
            case .done: continue
            case .new: try enter(inner)
            }
        }
    }
}

extension ArchiveTable.Value {
    /// The numbers of the values inside this one.
    fileprivate var inner: [Int] {
        switch self {
        case .array(let values): values
        case .dictionary(let members): Array(members.values)
        case .null, .bool, .integer, .real, .text, .other, .reference: []
        }
    }
}
