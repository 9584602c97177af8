import CSpoolSystem
import Glibc

/// Makes a directory that only this user can enter.
func makeDirectory(_ path: String) throws {
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw BenchmarkError.system("mkdir \(path)") }
}

/// Writes a small text file anew.
func writeFile(_ text: String, to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw BenchmarkError.system("open \(path)") }
    defer { close(descriptor) }
    let bytes = Array(text.utf8)
    guard write(descriptor, bytes, bytes.count) == bytes.count else { throw BenchmarkError.system("write \(path)") }
}

/// Deletes a directory of the harness with all that is in it.
func removeTree(_ path: String) {
    guard let directory = spool_open_directory(path) else { return }
    var names: [String] = []
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(SPOOL_NAME_CAPACITY)) { buffer in
        guard let base = buffer.baseAddress else { return }
        while spool_next_name(directory, base) == 1 { names.append(String(cString: base)) }
    }
    spool_close_directory(directory)
    for name in names {
        let child = path + "/" + name
        if unlink(child) != 0 { removeTree(child) }
    }
    rmdir(path)
}

/// Bytes that a plain user may still write to the file system of `path`.
func freeBytes(at path: String) -> Int64 {
    var status = statvfs()
    guard statvfs(path, &status) == 0 else { return 0 }
    return Int64(status.f_bavail) * Int64(status.f_frsize)
}
