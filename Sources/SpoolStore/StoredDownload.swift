public import SpoolCore

/// An entry of the list of downloads, as a store keeps it.
///
/// The text has one line for each member: its name, a space and its value. A line that is not known
/// is kept out: another version of the program may have written it.
public struct StoredDownload: Hashable, Sendable {
    /// The most entries that a store returns.
    public static let maximumCount = 10_000
    /// The most parts of presentations that a store returns, of all entries together: about 70 films
    /// of two hours in segments of 4 seconds, with sound in segments of its own.
    public static let maximumPartCount = 262_144
    /// The longest text that is read, in bytes.
    static let maximumBytes = 64 << 10
    /// The part of it that is left to members which change later, such as a reason.
    static let reservedBytes = 8 << 10

    /// The identity of the resource.
    public var key: ResourceKey
    /// The other members by name. Neither names nor values contain a line break.
    public var members: [String: String]

    /// Creates an entry.
    public init(key: ResourceKey, members: [String: String]) {
        self.key = key
        self.members = members
    }

    private static let keyName = "key"

    /// Reads the text of an entry, or returns nil if it names no key.
    init?(_ text: String) {
        guard text.utf8.count <= Self.maximumBytes else { return nil }
        var members: [String: String] = [:]
        // Bytes, because a mark that follows a space or a line break is one character with it.
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
            let name = line.prefix { $0 != UInt8(ascii: " ") }
            members[String(decoding: name, as: UTF8.self)] = String(decoding: line.dropFirst(name.count + 1), as: UTF8.self)
        }
        guard let key = members.removeValue(forKey: Self.keyName), !key.isEmpty else { return nil }
        self.init(key: ResourceKey(normalized: key), members: members)
    }

    /// Returns the key of the text of an entry, or nil if it names none. A text of this program begins
    /// with the key, so its other members are not read.
    static func key(ofText text: String) -> ResourceKey? {
        let line = text.utf8.prefix { $0 != UInt8(ascii: "\n") }, start = keyName + " "
        guard line.starts(with: start.utf8), line.count > start.utf8.count, text.utf8.count <= maximumBytes else {
            return StoredDownload(text)?.key
        }
        return ResourceKey(normalized: String(decoding: line.dropFirst(start.utf8.count), as: UTF8.self))
    }

    /// The text of the entry.
    var text: String {
        let lines = members.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }
        return ([Self.keyName + " " + key.string + "\n"] + lines).joined()
    }

    /// Whether the text of the entry reads as the same entry, with room for further members: no member
    /// contains a line break.
    public var isStorable: Bool { text.utf8.count <= Self.maximumBytes - Self.reservedBytes && StoredDownload(text) == self }
}
