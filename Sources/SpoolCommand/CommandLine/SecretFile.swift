import SpoolStore
import SpoolSystem

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// A file that holds a key, a passphrase or a token.
///
/// A regular file must be its owner's alone, as `ssh` asks of private keys. What is no regular file, such as a pipe, is as private as whoever
/// made it wants it to be: `--key-file <(command)` hands in a key that lies elsewhere.
enum SecretFile {
    /// The longest secret that is read, in bytes.
    static let limitBytes = 4096

    /// The first line of the file, without its end: editors end a file with one.
    static func readLine(_ path: String, holding what: String) throws(Failure) -> String {
        let line = try read(path, holding: what) { String(validating: firstLine(of: $0), as: UTF8.self) }
        guard let line, !line.isEmpty else { throw Failure("the first line of \(path) is empty, or not UTF-8", .usage) }
        return line
    }

    /// The bytes before the end of the first line.
    static func firstLine(of bytes: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer> {
        bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
    }

    /// Calls `body` with all bytes of the file, and overwrites them afterwards.
    ///
    /// - Parameters:
    ///   - what: what it holds, for messages.
    ///   - limitBytes: the most that is read.
    ///   - mustBePrivate: whether a regular file that others may read is refused.
    /// - Throws: when it can't be read, others may read it, or it is longer than `limitBytes`. No message shows a byte of it.
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
        // A pipe gives what it has: each turn reads at least one byte, or ends.
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
        Failure("\(what) can't be had: \(SystemError(code: code, operation: operation, subject: path))", .inputOutput)
    }
}

private func systemRead(_ file: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int { read(file, bytes, count) }
