#if !os(watchOS)
import Foundation
package import SpoolCore

/// The files of one background session in the app's temporary directory, from their arrival until
/// they are stored.
///
/// Each file has a record beside it, so that a later process can store a file that this one did not
/// get to. A file without a record is deleted.
package struct DownloadFiles: Sendable {
    private let directory: String
    private let prefix: String

    /// The most bytes of the identifier in a name.
    private static let identifierBytes = 128
    /// The most bytes of a record: a label, and the fields of two heads.
    private static let maxRecordBytes = 512 << 10
    /// The end of a record's name.
    private static let suffix = ".record"
    /// The fields of requests that a record may have, in lower case. Any other may be a secret,
    /// which must not get on the disk.
    private static let openFields: Set<String> = [
        "accept", "accept-encoding", "accept-language", "if-range", "range", "referer", "user-agent",
    ]

    /// Uses files in `directory` whose names begin with the identifier of the session.
    package init(in directory: String, session identifier: String) {
        self.directory = directory.count > 1 && directory.hasSuffix("/") ? String(directory.dropLast()) : directory
        // Other characters would not be names. `-` ends the identifier, so that one identifier may
        // begin with another one.
        let safe = identifier.utf8.map { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x2E ? byte : 0x5F
        }
        prefix = "spool-download-" + String(decoding: safe.prefix(Self.identifierBytes), as: UTF8.self) + "-"
    }

    /// Returns the path for a file that has arrived.
    package func path(_ name: String) -> String { "\(directory)/\(prefix)\(name)" }

    private struct Record: Codable {
        var label: String
        /// Whether the request may use cellular, expensive and constrained networks.
        var networks: [Bool]
        /// The fields of the request, and those of the response, as names and values in turn.
        var asked: [[String]]
        var status: Int
        var fields: [[String]]
    }

    /// Writes the record of the file at `path`, before the file is there. A request with a field
    /// that may be secret has none.
    package func keep(_ download: HandOver, _ head: ResponseHead, at path: String) throws {
        guard download.fields.lines.allSatisfy({ Self.openFields.contains($0.name.lowercased()) }) else { return }
        let access = download.access
        let record = Record(
            label: download.label, networks: [access.allowsCellular, access.allowsExpensive, access.allowsConstrained],
            asked: Self.texts(download.fields), status: head.status, fields: Self.texts(head.fields))
        try JSONEncoder().encode(record).write(to: URL(fileURLWithPath: path + Self.suffix))
    }

    /// Returns the files of an earlier process, which was killed before it had stored them, and
    /// deletes those without a record. Call it before the session can deliver files: no other
    /// process has this session.
    package func leftovers() throws -> [(path: String, download: HandOver, head: ResponseHead)] {
        let names = try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasPrefix(prefix) }.sorted()
        let files = Set(names.filter { !$0.hasSuffix(Self.suffix) }).map { "\(directory)/\($0)" }.sorted()
        var found: [(path: String, download: HandOver, head: ResponseHead)] = []
        for path in files {
            guard let (download, head) = Self.record(of: path) else {
                try Self.delete(path)
                continue
            }
            found.append((path, download, head))
        }
        for name in names where name.hasSuffix(Self.suffix) && !files.contains("\(directory)/\(name.dropLast(Self.suffix.count))") {
            try FileManager.default.removeItem(at: URL(fileURLWithPath: "\(directory)/\(name)"))
        }
        return found
    }

    /// Deletes a file and its record.
    package static func delete(_ path: String) throws {
        for path in [path, path + suffix] where FileManager.default.fileExists(atPath: path) {
            try FileManager.default.removeItem(at: URL(fileURLWithPath: path))
        }
    }

    private static func record(of path: String) -> (HandOver, ResponseHead)? {
        // A damaged record is none.
        guard let data = try? Data(contentsOf: URL(fileURLWithPath: path + suffix)), data.count <= maxRecordBytes else { return nil }
        guard let record = try? JSONDecoder().decode(Record.self, from: data), var download = HandOver(label: record.label),
            let asked = fields(record.asked), let fields = fields(record.fields), record.networks.count == 3
        else { return nil }
        download.fields = asked
        download.access = NetworkAccess(
            allowsCellular: record.networks[0], allowsExpensive: record.networks[1], allowsConstrained: record.networks[2])
        return (download, ResponseHead(status: record.status, fields: fields))
    }

    private static func texts(_ fields: HTTPFields) -> [[String]] { fields.lines.map { [$0.name, $0.value] } }

    private static func fields(_ texts: [[String]]) -> HTTPFields? {
        guard texts.allSatisfy({ $0.count == 2 }) else { return nil }
        return HTTPFields(texts.map { HTTPFields.Field(name: $0[0], value: $0[1]) })
    }
}
#endif
