import SpoolLibc
import SpoolStore
import SpoolSystem

/// Reads a file that contains a key, a passphrase or a token.
///
/// A regular file must be accessible to its owner only, as `ssh` requires of private keys. Another
/// kind of file, such as a pipe, is not checked, because its creator decides who can read it.
/// `--key-file <(command)` passes a key that is stored elsewhere.
enum SecretFile {
    /// The longest secret, in bytes.
    static let limitBytes = 4096

    /// Returns the first line of the file without its end. Editors end a file with a newline.
    static func readLine(_ path: String, holding what: String) throws(Failure) -> String {
        let line = try read(path, holding: what) { text(of: firstLine(of: $0)) }
        guard let line, !line.isEmpty else { throw Failure("the first line of \(path) is empty, or not UTF-8", .usage) }
        return line
    }

    /// Returns the text of UTF-8 bytes, or nil for other bytes. Decoding repairs those, so that the
    /// text has different bytes.
    private static func text(of bytes: Slice<UnsafeRawBufferPointer>) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        return text.utf8.elementsEqual(bytes) ? text : nil
    }

    /// Returns the bytes before the end of the first line.
    static func firstLine(of bytes: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer> {
        bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
    }

    /// Calls `body` with all bytes of the file, and overwrites them afterwards.
    ///
    /// - Parameters:
    ///   - what: The content of the file, for messages.
    ///   - limitBytes: The largest size that is read.
    ///   - mustBePrivate: Whether to refuse a regular file that others may read.
    /// - Throws: `Failure` when the file cannot be read, others may read it, or it is longer than
    ///   `limitBytes`. No message shows a byte of it.
    static func read<R>(
        _ path: String, holding what: String = "the key of the store", limitBytes: Int = Self.limitBytes, mustBePrivate: Bool = true,
        _ body: (UnsafeRawBufferPointer) -> R
    ) throws(Failure) -> R {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw failure(errno, "open", path, what) }
        defer { close(file) }
        if mustBePrivate { try check(file, path, what) }
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: limitBytes + 1, alignment: 16)
        defer {
            EncryptionKey.wipe(bytes)
            bytes.deallocate()
        }
        var count = 0
        // A pipe may return less than was asked for. Each turn reads at least one byte, or ends.
        while count < bytes.count {
            let got = systemRead(file, bytes.baseAddress.map { $0 + count }, bytes.count - count)
            if got == 0 { return body(UnsafeRawBufferPointer(rebasing: bytes[..<count])) }
            if got > 0 { count += got } else if errno != EINTR { throw failure(errno, "read", path, what) }
        }
        throw Failure("\(path) is longer than \(limitBytes) bytes: it is not \(what)", .usage)
    }

    private static func check(_ file: Int32, _ path: String, _ what: String) throws(Failure) {
        var status = stat()
        guard fstat(file, &status) == 0 else { throw failure(errno, "look at", path, what) }
        let mode = UInt32(status.st_mode)
        if mode & UInt32(S_IFMT) == UInt32(S_IFDIR) { throw failure(EISDIR, "read", path, what) }
        guard mode & UInt32(S_IFMT) == UInt32(S_IFREG), mode & 0o077 != 0 else { return }
        throw Failure(
            "others can read \(path), which holds \(what): 'chmod 600 \(path)', or hand it in by a pipe", .usage)
    }

    private static func failure(_ code: Int32, _ operation: String, _ path: String, _ what: String) -> Failure {
        Failure("can't read \(what): \(SystemError(code: code, operation: operation, subject: path))", .inputOutput)
    }
}

private func systemRead(_ file: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int { read(file, bytes, count) }

extension Arguments {
    /// Returns the text of a file that a flag names.
    func text(
        of path: String, _ flag: Flag, holding what: String, limitBytes: Int = SecretFile.limitBytes, mustBePrivate: Bool = true
    ) throws(UsageError) -> String {
        do throws(Failure) {
            return try SecretFile.read(path, holding: what, limitBytes: limitBytes, mustBePrivate: mustBePrivate) {
                String(decoding: $0, as: UTF8.self)
            }
        } catch { throw invalid(flag, "can't be read: \(error.message)") }
    }
}
