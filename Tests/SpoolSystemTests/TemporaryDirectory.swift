import SpoolLibc
import SpoolSystem
import Testing

/// Runs a test in its own directory and removes it afterwards.
func withTemporaryDirectory(_ body: (POSIXFileSystem, String) throws -> Void) throws {
    let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(base)/spool-test-XXXXXX".utf8CString)
    let path = try #require(mkdtemp(&template).map { String(cString: $0) })
    let disk = POSIXFileSystem()
    defer { #expect(throws: Never.self) { try removeTree(path, disk) } }
    try body(disk, path)
}

private func removeTree(_ path: String, _ disk: POSIXFileSystem) throws(SystemError) {
    for name in try disk.list(path) {
        let child = "\(path)/\(name)"
        if try disk.status(child)?.isDirectory == true { try removeTree(child, disk) } else { try disk.unlink(child) }
    }
    try disk.removeDirectory(path)
}
