#if !os(watchOS)
import SpoolCore
package import SpoolSystem

/// The files of one background session in the app's temporary directory, from their arrival until
/// they are stored.
package struct DownloadFiles: Sendable {
    private let directory: String
    private let prefix: String
    private let fileSystem: any FileSystem

    /// Uses files in `directory` whose names begin with the identifier of the session.
    package init(in directory: String, session identifier: String, fileSystem: any FileSystem) {
        self.directory = directory.count > 1 && directory.hasSuffix("/") ? String(directory.dropLast()) : directory
        // Other characters would not be names. `-` ends the identifier, so that one identifier may
        // begin with another one.
        let safe = identifier.utf8.map { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x2E ? byte : 0x5F
        }
        prefix = "spool-download-" + String(decoding: safe.prefix(Self.identifierBytes), as: UTF8.self) + "-"
        self.fileSystem = fileSystem
    }

    /// The most bytes of the identifier in a name.
    private static let identifierBytes = 128

    /// Returns the path for a file that has arrived.
    package func path(_ name: String) -> String { "\(directory)/\(prefix)\(name)" }

    /// Deletes the files of an earlier process, which was killed before it had stored them. Call it
    /// before the session can deliver files: no other process has this session.
    package func deleteAll() throws(SystemError) {
        for name in try fileSystem.list(directory) where name.hasPrefix(prefix) { try fileSystem.unlink("\(directory)/\(name)") }
    }
}
#endif
