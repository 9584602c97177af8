import SpoolStore
import SpoolSystem

#if os(Linux)
import CSQLite
#else
import SQLite3
#endif

extension EncryptionOptions {
    /// Returns options with a key of 32 equal bytes.
    static func testing(algorithm: CipherAlgorithm = .chaCha20Poly1305, keyByte: UInt8 = 1) -> EncryptionOptions {
        guard let key = EncryptionKey(bytes: [UInt8](repeating: keyByte, count: EncryptionKey.byteCount)) else {
            preconditionFailure("a key has \(EncryptionKey.byteCount) bytes")
        }
        return EncryptionOptions(keyProvider: .key(key), algorithm: algorithm)
    }
}

extension SQLiteStore.Options {
    static func testing(_ encryption: EncryptionOptions?, _ log: RecoveryLog) -> SQLiteStore.Options {
        var options = SQLiteStore.Options()
        options.bootID = "boot"
        options.encryption = encryption
        options.onRecovery = { log.add($0) }
        return options
    }
}

/// Returns the paths of all files below a directory.
func allFiles(below directory: String) throws -> [String] {
    let disk = POSIXFileSystem()
    return try disk.list(directory).flatMap { name -> [String] in
        let path = "\(directory)/\(name)"
        return try disk.status(path)?.isDirectory == true ? allFiles(below: path) : [path]
    }
}

/// Returns all bytes of a file.
func fileBytes(_ path: String) throws -> [UInt8] {
    let file = try POSIXFileSystem().open(path, .read)
    var failure: (any Error)?
    let size = Int(try file.status().size)
    let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
        do {
            while count < size {
                let got = try file.read(
                    into: UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[count...]), at: Int64(count))
                if got == 0 { break }
                count += got
            }
        } catch { failure = error }
    }
    if let failure { throw failure }
    return bytes
}

/// Creates a file of these bytes, or replaces the content of an existing one.
func write(_ bytes: [UInt8], toFile path: String) throws {
    let file = try POSIXFileSystem().open(path, .create)
    try file.truncate(to: 0)
    var failure: (any Error)?
    bytes.withUnsafeBytes { buffer in
        do { try file.write(buffer, at: 0) } catch { failure = error }
    }
    if let failure { throw failure }
}

/// Returns the first run of 16 bytes of each secret that occurs in `bytes`.
///
/// Searches every window of 16 bytes, because the guarantee covers those.
func windows(of secrets: [[UInt8]], in bytes: [UInt8]) -> [String] {
    var wanted: Set<SIMD2<UInt64>> = []
    for secret in secrets {
        secret.withUnsafeBytes { secret in
            for start in 0..<max(0, secret.count - 15) {
                wanted.insert(secret.loadUnaligned(fromByteOffset: start, as: SIMD2<UInt64>.self))
            }
        }
    }
    return bytes.withUnsafeBytes { bytes in
        for start in 0..<max(0, bytes.count - 15) {
            let window = bytes.loadUnaligned(fromByteOffset: start, as: SIMD2<UInt64>.self)
            // Holes and padding are not secrets.
            if window != .zero, wanted.contains(window) { return ["16 bytes at \(start)"] }
        }
        return []
    }
}

struct SQLiteFailure: Error {
    var message: String
}

/// Returns the first column of each row, as another program reads it.
func rows(_ statement: String, ofIndex path: String) throws -> [String] {
    var database: OpaquePointer?, query: OpaquePointer?
    defer { sqlite3_close(database) }
    guard sqlite3_open(path, &database) == SQLITE_OK, sqlite3_prepare_v2(database, statement, -1, &query, nil) == SQLITE_OK else {
        throw SQLiteFailure(message: String(cString: sqlite3_errmsg(database)))
    }
    defer { sqlite3_finalize(query) }
    var rows: [String] = []
    while sqlite3_step(query) == SQLITE_ROW { rows.append(String(cString: sqlite3_column_text(query, 0))) }
    return rows
}

/// Changes an index from outside, as another program could.
func execute(_ statement: String, onIndex path: String) throws {
    var database: OpaquePointer?
    defer { sqlite3_close(database) }
    guard sqlite3_open(path, &database) == SQLITE_OK, sqlite3_exec(database, statement, nil, nil, nil) == SQLITE_OK else {
        throw SQLiteFailure(message: String(cString: sqlite3_errmsg(database)))
    }
}
