import SpoolSystem

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// Where `get` writes: a file that gets its name only when it is complete, or a stream (standard output, a pipe, a device).
///
/// A file that is not finished is taken away again: its bytes are in the cache.
final class OutputFile {
    private let stream: OutputStream
    /// The name under way and the one at the end; nil for a stream.
    private let rename: (from: String, to: String)?
    private let isOurs: Bool
    private var isFinished = false

    /// - Parameter name: `-` for standard output.
    init(_ name: String) throws(SystemError) {
        guard name != "-" else {
            (stream, rename, isOurs) = (.output, nil, false)
            return
        }
        let rename = Self.isStream(name) ? nil : (from: name + ".part", to: name)
        let path = rename?.from ?? name
        var flags = O_WRONLY | O_CLOEXEC
        if rename != nil {
            // A run that was killed left its own. What takes its place after this is somebody else's, and never followed or written to.
            try Self.removeStale(path)
            flags |= O_CREAT | O_EXCL | O_NOFOLLOW
        }
        let descriptor = try systemCall("open", on: path) { open(path, flags, 0o666) }
        stream = OutputStream(descriptor: descriptor, name: path)
        self.rename = rename
        isOurs = true
    }

    deinit {
        if isOurs { close(stream.descriptor) }
        if let rename, !isFinished { unlink(rename.from) }
    }

    func write(_ bytes: [UInt8]) throws(SystemError) {
        try stream.write(bytes)
    }

    /// Every byte was written: the file takes its name.
    func finish() throws(SystemError) {
        guard let rename else { return }
        try POSIXFileSystem().rename(rename.from, to: rename.to)
        isFinished = true
    }

    private static func removeStale(_ path: String) throws(SystemError) {
        do throws(SystemError) { try POSIXFileSystem().unlink(path) } catch {
            guard error.code == ENOENT else { throw error }
        }
    }

    /// Whether there is something of that name that is written to as it is: a pipe, a device.
    private static func isStream(_ name: String) -> Bool {
        var status = stat()
        guard stat(name, &status) == 0 else { return false }
        let kind = status.st_mode & S_IFMT
        return kind != S_IFREG && kind != S_IFDIR
    }
}
