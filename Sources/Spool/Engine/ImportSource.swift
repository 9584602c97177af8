package import SpoolCore
import SpoolSystem

/// The files whose bytes become a stored resource.
package enum ImportSource: Sendable {
    /// One file with all bytes.
    case file(String)
    /// Parts of a resource of `length` bytes. Links are not followed.
    case parts([Part], name: String, length: Int64)

    /// A range of the resource, and its place in a file.
    package struct Part: Hashable, Sendable {
        /// The path of the file. An adoption begins it at the directory.
        package var path: String
        /// The offset in the file.
        package var offset: Int64
        /// The bytes of the resource.
        package var range: ByteRange

        /// Creates a part.
        package init(path: String, offset: Int64, range: ByteRange) {
            (self.path, self.offset, self.range) = (path, offset, range)
        }
    }

    /// The name for messages.
    var name: String {
        switch self {
        case .file(let path): path
        case .parts(_, let name, _): name
        }
    }
}

/// The opened files of an import.
struct ImportFiles: Sendable {
    /// The most files that stay open. Others are opened again for each step.
    private static let maximumOpenFiles = 16

    private struct File: Sendable {
        var path: String
        var status: FileStatus
        var handle: (any FileHandle)?
    }

    private var files: [File] = []
    private var indexes: [String: Int] = [:]
    private var parts: [(part: ImportSource.Part, file: Int)] = []
    /// The number of bytes of the resource.
    private(set) var length: Int64 = 0
    /// The number of bytes that the files have of it.
    private(set) var bytes: Int64 = 0

    /// Looks at all files of a source.
    init(_ source: ImportSource) throws(SystemError) {
        switch source {
        case .file(let path):
            let status = try add(path, followsLinks: true)
            length = status.size
            if let range = ByteRange(0, length) { append(ImportSource.Part(path: path, offset: 0, range: range), 0) }
        case .parts(let parts, _, let length):
            self.length = length
            for part in parts {
                if indexes[part.path] == nil { try add(part.path, followsLinks: false) }
                guard let index = indexes[part.path] else { continue }
                append(part, index)
            }
        }
    }

    private mutating func append(_ part: ImportSource.Part, _ file: Int) {
        parts.append((part, file))
        bytes += part.range.count
    }

    @discardableResult
    private mutating func add(_ path: String, followsLinks: Bool) throws(SystemError) -> FileStatus {
        let system = POSIXFileSystem()
        let name = try followsLinks ? system.status(path) : system.statusOfName(path)
        // Opening a pipe would wait for its other end.
        if let name, !name.isRegular { throw SystemError.isNoFile(path, name, "open") }
        let handle = try system.open(path, .read)
        let status = try handle.status()
        // Another file took the name between the two calls.
        if !followsLinks, status.identity != name?.identity { throw SystemError.isNoFile(path, status, "open") }
        indexes[path] = files.count
        files.append(File(path: path, status: status, handle: files.count < Self.maximumOpenFiles ? handle : nil))
        return status
    }

    /// The next bytes at or behind `position`, at most up to the next multiple of `step`.
    func next(at position: Int64, step: Int64) -> Step? {
        var (low, high) = (0, parts.count)
        while low < high {
            let middle = (low + high) / 2
            if parts[middle].part.range.upperBound <= position { low = middle + 1 } else { high = middle }
        }
        guard low < parts.count else { return nil }
        let (part, file) = parts[low]
        let lower = max(position, part.range.lowerBound)
        let upper = min(part.range.upperBound, (lower / step + 1) * step)
        return Step(range: ByteRange(lower: lower, upper: upper), file: file, offset: part.offset + lower - part.range.lowerBound)
    }

    /// The bytes that one step copies.
    struct Step: Sendable {
        var range: ByteRange
        fileprivate var file: Int
        fileprivate var offset: Int64
    }

    /// Reads the bytes of a step. Returns false when the file has changed.
    func read(_ step: Step, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Bool {
        let file = files[step.file]
        let handle = try handle(of: file)
        guard try isUnchanged(file, handle) else { return false }
        return try handle.read(into: buffer, at: step.offset) == buffer.count
    }

    /// Whether every file is as it was at first.
    func areUnchanged() throws(SystemError) -> Bool {
        for file in files where try !isUnchanged(file, handle(of: file)) { return false }
        return true
    }

    private func handle(of file: File) throws(SystemError) -> any FileHandle {
        if let handle = file.handle { return handle }
        return try POSIXFileSystem().open(file.path, .read)
    }

    private func isUnchanged(_ file: File, _ handle: any FileHandle) throws(SystemError) -> Bool {
        let now = try handle.status()
        return now.size == file.status.size && now.modified == file.status.modified && now.identity == file.status.identity
    }
}
