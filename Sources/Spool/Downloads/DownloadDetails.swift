public import SpoolCore
import SpoolStore

/// The further parts of an entry of the list of downloads. They are kept with the entry, and go
/// with it.
public struct DownloadDetails: Hashable, Sendable {
    /// The most bytes of `appData`: enough for a title, an identifier and the place of a picture.
    public static let maximumAppDataBytes = 4096
    /// The most bytes of the names and values of the request fields.
    static let maximumFieldBytes = 8192

    /// The app's own data about the entry, at most `maximumAppDataBytes`.
    public var appData: [UInt8]
    /// The networks and the state of the device in which the download runs, or nil for
    /// `NetworkPolicy.downloads`.
    public var access: NetworkAccess?
    /// The most bytes that the download may have, or nil for no limit of its own. The allowance of
    /// the list holds in any case.
    public var maximumBytes: Int64?
    /// The SHA-256 (32 bytes) of the resource as its origin sends it, or nil for none. A download
    /// with other bytes fails, and its bytes are removed. Of a presentation it is that of the
    /// manifest.
    public var sha256: [UInt8]?
    var fields: WriteOnlyFields

    /// Creates details.
    ///
    /// - Parameters:
    ///   - requestFields: Fields for each origin request of the download, such as `Authorization`; at
    ///     most 8192 bytes. No list, event, log or report has their values. The parts of a
    ///     presentation at another origin than its manifest get none. An encrypted store seals them.
    ///     In a plain store they are in the index, which has the file protection of the configuration.
    ///   - appData: The app's own data about the entry, at most `maximumAppDataBytes`.
    ///   - access: The networks and the state of the device in which the download runs, or nil for
    ///     `NetworkPolicy.downloads`.
    ///   - maximumBytes: The most bytes that the download may have, or nil for no limit of its own.
    ///   - sha256: The SHA-256 (32 bytes) that the resource must have, or nil for none.
    public init(
        requestFields: HTTPFields = [:], appData: [UInt8] = [], access: NetworkAccess? = nil, maximumBytes: Int64? = nil,
        sha256: [UInt8]? = nil
    ) {
        (self.appData, self.access, self.maximumBytes, self.sha256) = (appData, access, maximumBytes, sha256)
        fields = WriteOnlyFields(fields: requestFields)
    }

    /// Throws an error about the first part that is too large, or can't be kept.
    func validate(for key: ResourceKey) throws(CacheError) {
        func refuse(_ reason: String) -> CacheError { CacheError(.configuration, reason, key: key) }
        guard appData.count <= Self.maximumAppDataBytes else {
            throw refuse("the app data of a download has \(appData.count) bytes; at most \(Self.maximumAppDataBytes) are kept")
        }
        let bytes = fields.fields.lines.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        guard bytes <= Self.maximumFieldBytes else {
            throw refuse("the request fields of a download have \(bytes) bytes; at most \(Self.maximumFieldBytes) are kept")
        }
        if let sha256, sha256.count != SHA256Digest.byteCount {
            throw refuse("the SHA-256 of a download has \(sha256.count) bytes; it must have \(SHA256Digest.byteCount)")
        }
        guard WriteOnlyFields(text: fields.text) == fields else {
            throw refuse("a request field of a download has a line break, or a colon in its name")
        }
    }
}

/// Request fields whose values no description and no mirror shows.
struct WriteOnlyFields: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    var fields: HTTPFields = [:]

    var description: String { "\(fields.lines.count) request fields" }
    var customMirror: Mirror { Mirror(self, children: [:]) }

    /// The fields, one on each line.
    fileprivate var text: String { fields.lines.map { "\($0.name):\($0.value)" }.joined(separator: "\n") }

    fileprivate init(text: String) {
        for line in text.split(separator: "\n") {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let name = HTTPFields.Name(String(line[..<colon]))
            fields.append(name, String(line[line.index(after: colon)...]))
        }
    }

    init(fields: HTTPFields) { self.fields = fields }
}

// MARK: In the store

extension DownloadDetails {
    private enum Member {
        static let data = "data", fields = "fields", access = "access", limit = "limit", sha256 = "sha256"
    }

    /// The members of the entry of the store. Bytes are hexadecimal, because a member has one line.
    var members: [String: String] {
        var members: [String: String] = [:]
        if !appData.isEmpty { members[Member.data] = appData.hexadecimal }
        if !fields.fields.lines.isEmpty { members[Member.fields] = Array(fields.text.utf8).hexadecimal }
        if let access {
            let flags = [access.allowsCellular, access.allowsExpensive, access.allowsConstrained, access.allowsLowPowerMode]
            members[Member.access] = flags.map { $0 ? "1" : "0" }.joined() + "\(access.hottest.rawValue)"
        }
        if let maximumBytes { members[Member.limit] = "\(maximumBytes)" }
        members[Member.sha256] = sha256?.hexadecimal
        return members
    }

    /// Reads the members of an entry of the store. A member that can't be read counts as missing,
    /// except a SHA-256, which no bytes have then.
    init(members: [String: String]) {
        self.init(maximumBytes: members[Member.limit].flatMap { Int64($0) }, sha256: members[Member.sha256].map { Self.bytes($0) })
        appData = Self.bytes(members[Member.data])
        fields = WriteOnlyFields(text: String(decoding: Self.bytes(members[Member.fields]), as: UTF8.self))
        let words = members[Member.access].map { Array($0.utf8) } ?? []
        guard words.count == 5, let hottest = ThermalState(rawValue: Int(words[4]) - Int(UInt8(ascii: "0"))) else { return }
        let flags = words.map { $0 == UInt8(ascii: "1") }
        var access = NetworkAccess(allowsCellular: flags[0], allowsExpensive: flags[1], allowsConstrained: flags[2])
        (access.allowsLowPowerMode, access.hottest) = (flags[3], hottest)
        self.access = access
    }

    private static func bytes(_ text: String?) -> [UInt8] {
        let digits = Array((text ?? "").utf8)
        guard digits.count.isMultiple(of: 2) else { return [] }
        let bytes = stride(from: 0, to: digits.count, by: 2).compactMap { place in
            UInt8(String(decoding: digits[place..<place + 2], as: UTF8.self), radix: 16)
        }
        return bytes.count == digits.count / 2 ? bytes : []
    }
}
