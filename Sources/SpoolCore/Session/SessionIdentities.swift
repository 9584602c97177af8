/// The identity of a reader within its session. Later readers have larger numbers.
package struct ReaderID: Hashable, Comparable, Sendable {
    /// The number itself, counted from 1.
    package let rawValue: UInt64
    /// Creates the identity with this number.
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package static func < (a: ReaderID, b: ReaderID) -> Bool { a.rawValue < b.rawValue }
}

/// The identity of a fetch within its session. Later fetches have larger numbers.
package struct FetchID: Hashable, Comparable, Sendable {
    /// The number itself, counted from 1.
    package let rawValue: UInt64
    /// Creates the identity with this number.
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package static func < (a: FetchID, b: FetchID) -> Bool { a.rawValue < b.rawValue }
}
