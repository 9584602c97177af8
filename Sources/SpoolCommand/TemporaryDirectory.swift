import SpoolLibc
import SpoolSystem

/// A directory that is created for one run and removed after it.
struct TemporaryDirectory {
    let path: String

    /// Creates the directory in `TMPDIR`, or in `/tmp`.
    init(prefix: String) throws(SystemError) {
        let parent = Environment["TMPDIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
        var template = Array("\(parent)/\(prefix)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError(code: errno, operation: "mkdtemp", subject: parent) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Removes the directory and its contents. Reports an error on standard error.
    func remove() {
        do throws(SystemError) {
            try Self.remove(path, depth: 0, in: POSIXFileSystem())
        } catch {
            OutputStream.error.say("spool: the temporary directory is left behind: \(error)")
        }
    }

    /// The deepest tree that is removed. A store is three directories deep, so a deeper tree is not
    /// this program's.
    private static let maxDepth = 8

    private static func remove(_ path: String, depth: Int, in files: POSIXFileSystem) throws(SystemError) {
        guard depth <= maxDepth else { return }
        for name in try files.list(path) {
            let entry = path + "/" + name
            guard let status = try files.status(entry) else { continue }
            if status.isDirectory { try remove(entry, depth: depth + 1, in: files) } else { try files.unlink(entry) }
        }
        try files.removeDirectory(path)
    }
}
