#if !os(watchOS)
import Spool
package import SpoolCore
package import SpoolOrigin

/// The rest of a download, as the system continues it while the app is suspended or gone.
package struct HandOver: Hashable, Sendable {
    /// The identity of the resource in the cache.
    package let key: ResourceKey
    /// The URL, the first missing byte and the validator of the stored bytes.
    package let request: ReceivedFile.Request
    /// The fields of the request, without those for ranges and conditions.
    package var fields: HTTPFields = [:]
    /// The networks that the request may use.
    package var access = NetworkAccess()

    /// The most bytes of a label.
    static let maxLabelBytes = 65_536
    private static let format = "spool-1"

    /// Creates the rest of a download from what is stored.
    ///
    /// - Returns: Nil when nothing is missing, or when the stored version has no strong entity tag:
    ///   the system's file could not be shown to belong to the stored bytes.
    init?(url: String, key: ResourceKey, access: NetworkAccess?, rest: MissingBytes) {
        var lower: Int64 = 0, upper: Int64?, ifRange: String?
        if !rest.stored.isEmpty {
            guard case .strong(let tag) = rest.representation?.validator, let length = rest.representation?.length else { return nil }
            guard let all = ByteRange(0, length), let first = rest.stored.gaps(in: all).first, let last = rest.stored.gaps(in: all).last
            else { return nil }
            (lower, ifRange) = (first.lowerBound, tag)
            if last.upperBound < length { upper = last.upperBound }
        }
        self.key = key
        request = ReceivedFile.Request(url: url, lower: lower, upper: upper, ifRange: ifRange)
        fields = rest.fields
        self.access = access ?? NetworkAccess()
        // A key with a line break, for example, cannot be read again.
        guard let read = HandOver(label: label), read.key == key, read.request == request else { return nil }
    }

    /// Creates the rest of a running download.
    ///
    /// - Returns: Nil if the system cannot continue it, for example a presentation whose manifest is
    ///   stored.
    init?(_ download: ListedTransfer) {
        guard let rest = download.rest() else { return nil }
        self.init(url: download.url, key: download.key, access: download.access, rest: rest)
    }

    /// Reads the label of a task. Fields and networks are not in it.
    package init?(label: String) {
        guard label.utf8.count <= Self.maxLabelBytes else { return nil }
        let parts = label.split(separator: "\n", maxSplits: 4, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 5, parts[0] == Self.format, let (lower, upper) = Self.range(parts[1]), !parts[3].isEmpty, !parts[4].isEmpty
        else { return nil }
        key = ResourceKey(normalized: parts[3])
        request = ReceivedFile.Request(url: parts[4], lower: lower, upper: upper, ifRange: parts[2].isEmpty ? nil : parts[2])
    }

    /// Reads the offsets of a label: the first byte, and the end if the request has one.
    private static func range(_ text: String) -> (lower: Int64, upper: Int64?)? {
        let offsets = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false).map { Int64($0) }
        guard let lower = offsets[0], lower >= 0, lower <= ByteRange.maximumOffset else { return nil }
        guard offsets.count == 2 else { return (lower, nil) }
        guard let upper = offsets[1], upper > lower, upper <= ByteRange.maximumOffset else { return nil }
        return (lower, upper)
    }

    private var offsets: String { "\(request.lower)" + (request.upper.map { "-\($0)" } ?? "") }

    /// The text that the system keeps with a task.
    package var label: String { [Self.format, offsets, request.ifRange ?? "", key.string, request.url].joined(separator: "\n") }

    /// Returns the fields of a system's request without those that `requestFields` adds.
    static func withoutOwn(_ fields: HTTPFields) -> HTTPFields {
        var fields = fields
        for name: HTTPFields.Name in [.acceptEncoding, .range, .ifRange] { fields[name] = nil }
        return fields
    }

    /// The fields of the system's request.
    package var requestFields: HTTPFields {
        var fields = fields
        fields[.acceptEncoding] = "identity"
        fields[.range] = "bytes=\(request.lower)-" + (request.upper.map { "\($0 - 1)" } ?? "")
        fields[.ifRange] = request.ifRange
        return fields
    }
}
#endif
