package import SpoolCore

/// Counts what a task of `URLSession` delivers: one head, and no more bytes than the head promises.
///
/// The system may repeat a request by itself. The bytes of a second response must not follow those
/// of the first.
package struct TaskAnswer {
    /// Whether the head came.
    package private(set) var hasHead = false
    /// The length of the body by its head, if it has one.
    private var promisedBytes: Int64?
    /// The number of body bytes so far.
    package private(set) var arrivedBytes: Int64 = 0

    /// Creates a count for a task that delivered nothing yet.
    package init() {}

    /// Returns the fields of a response, sorted by name, because the dictionary of the system has no
    /// order. The system joins fields of one name by commas. Two entity tags are none (RFC 9110
    /// §8.8.3), so no stored byte is combined by them.
    package static func fields(_ lines: [HTTPFields.Field]) -> HTTPFields {
        let isDouble = { (line: HTTPFields.Field) in line.isNamed(.entityTag) && line.value.contains("\",") }
        return HTTPFields(lines.filter { !isDouble($0) }.sorted { $0.name < $1.name })
    }

    /// Counts a head. Returns the defect that ends the transfer, or nil.
    package mutating func headReceived(promising bytes: Int64?) -> String? {
        guard !hasHead else { return "a second response came on one request" }
        hasHead = true
        promisedBytes = bytes
        return nil
    }

    /// Counts bytes of the body. Returns the defect that ends the transfer, or nil.
    package mutating func bytesReceived(_ count: Int) -> String? {
        let (sum, overflows) = arrivedBytes.addingReportingOverflow(Int64(count))
        guard !overflows, promisedBytes.map({ sum <= $0 }) ?? true else { return "more bytes came than the length promises" }
        arrivedBytes = sum
        return nil
    }

    /// Whether fewer bytes came than the head promises.
    package var isShort: Bool { promisedBytes.map { arrivedBytes < $0 } ?? false }
    /// Whether exactly the promised bytes came.
    package var isWhole: Bool { hasHead && promisedBytes == arrivedBytes }
}
