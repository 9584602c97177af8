import SpoolLibc
import SpoolSystem

/// The output of `get`: a file that gets its name only when it is complete, or a stream (standard
/// output, a pipe, a device).
///
/// An incomplete file is removed, because its bytes are in the cache.
final class OutputFile {
    private let stream: OutputStream
    /// The temporary name and the final one, or nil for a stream.
    private let rename: (from: String, to: String)?
    private let isOurs: Bool
    private var isFinished = false

    /// Opens the output.
    ///
    /// - Parameter name: The name of the file, or `-` for standard output.
    init(_ name: String) throws(SystemError) {
        guard name != "-" else {
            (stream, rename, isOurs) = (.output, nil, false)
            return
        }
        let rename = Self.isStream(name) ? nil : (from: name + ".part", to: name)
        let path = rename?.from ?? name
        var flags = O_WRONLY | O_CLOEXEC
        if rename != nil {
            // A killed run may have left its own file. A file that appears after its removal
            // belongs to another program, and is never followed or written to.
            try POSIXFileSystem().unlinkIfPresent(path)
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

    /// Gives the complete file its final name.
    func finish() throws(SystemError) {
        guard let rename else { return }
        try POSIXFileSystem().rename(rename.from, to: rename.to)
        isFinished = true
    }

    /// Whether the name belongs to a pipe or a device, which is written to directly.
    static func isStream(_ name: String) -> Bool {
        var status = stat()
        guard stat(name, &status) == 0 else { return false }
        let kind = status.st_mode & S_IFMT
        return kind != S_IFREG && kind != S_IFDIR
    }
}
