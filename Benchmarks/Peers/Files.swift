import CSpoolSystem
import SpoolLibc

/// Makes a directory that only this user can enter.
func makeDirectory(_ path: String) throws {
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw BenchmarkError.system("mkdir \(path)") }
}

/// Writes a small text file, and replaces an existing one.
func writeFile(_ text: String, to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw BenchmarkError.system("open \(path)") }
    defer { close(descriptor) }
    let bytes = Array(text.utf8)
    guard write(descriptor, bytes, bytes.count) == bytes.count else { throw BenchmarkError.system("write \(path)") }
}

/// Deletes a directory of the harness with all its contents.
func removeTree(_ path: String) {
    guard let names = fileNames(in: path) else { return }
    for name in names {
        let child = path + "/" + name
        if unlink(child) != 0 { removeTree(child) }
    }
    rmdir(path)
}

/// Frees the room of all files in a directory, and keeps their names until the end of the run.
///
/// An ext4 without a journal does not reuse an inode that was freed in the last minutes, and checks
/// each of them for every new file (`recently_deleted`, fs/ext4/ialloc.c). After some thousand
/// deletions that costs a millisecond or two in the kernel, in the rows that follow.
func emptyTree(_ path: String) {
    for name in fileNames(in: path) ?? [] {
        let child = path + "/" + name
        if truncate(child, 0) != 0 { emptyTree(child) }
    }
}

/// Returns the names in a directory, or nil if it is not one.
func fileNames(in path: String) -> [String]? {
    guard let directory = spool_open_directory(path) else { return nil }
    defer { spool_close_directory(directory) }
    var names: [String] = []
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(SPOOL_NAME_CAPACITY)) { buffer in
        guard let base = buffer.baseAddress else { return }
        while spool_next_name(directory, base) == 1 { names.append(String(cString: base)) }
    }
    return names
}

/// The number of bytes that a plain user can still write to the file system of `path`.
func freeBytes(at path: String) -> Int64 {
    var status = statvfs()
    guard statvfs(path, &status) == 0 else { return 0 }
    return Int64(status.f_bavail) * Int64(status.f_frsize)
}
