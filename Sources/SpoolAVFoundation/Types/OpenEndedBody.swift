import SpoolCore

/// Tells live streams from other bodies without length.
///
/// A live stream has no end, and its next listener needs none of its earlier bytes. A body that an
/// origin makes while it sends it, such as an episode with inserted advertisements, ends.
package enum OpenEndedBody {
    /// Returns whether the response is a live stream, by the fields of the servers for radio, or
    /// must not be stored anyway.
    package static func isLive(_ representation: Representation) -> Bool {
        let fields = representation.fields
        if fields.lines.contains(where: { line in fieldPrefixes.contains { line.name.asciiLowercased.hasPrefix($0) } }) { return true }
        if let server = fields["Server"]?.asciiLowercased, servers.contains(where: { server.hasPrefix($0) }) { return true }
        let control = CacheControl(response: fields, isShared: false)
        if control.noStore { return true }
        // A response that must be confirmed, and cannot be, serves one play only.
        return control.noCache != nil && representation.validator == .none
    }

    /// The beginnings of the names of fields that describe a radio.
    private static let fieldPrefixes = ["icy-", "ice-"]
    /// The beginnings of the names of servers for radio, in lower case.
    private static let servers = ["icecast", "shoutcast"]
}
