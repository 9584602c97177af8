import SpoolSystem

/// The lock file of the writing process: `flock` on it, and the number of that process in it.
final class StoreLock: Sendable {
    private let handle: any FileHandle

    private init(handle: any FileHandle) {
        self.handle = handle
    }

    enum Outcome {
        case acquired(StoreLock)
        /// Another process holds the lock; its number if it can be read.
        case held(by: Int32?)
    }

    /// Tries to take the lock, without waiting.
    static func acquire(path: String, fileSystem: any FileSystem, processID: Int32) throws(SystemError) -> Outcome {
        let handle = try fileSystem.open(path, .create)
        guard try handle.lock(.exclusive) else { return .held(by: try readProcessID(handle)) }
        do throws(SystemError) { try write(processID, to: handle) } catch {
            // The number only informs people. The lock is valid without it.
            guard error.meansNoRoom else { throw error }
        }
        return .acquired(StoreLock(handle: handle))
    }

    /// Releases the lock.
    func release() throws(SystemError) {
        try handle.truncate(to: 0)
        _ = try handle.lock(.none)
    }

    private static func write(_ processID: Int32, to handle: any FileHandle) throws(SystemError) {
        try handle.truncate(to: 0)
        try handle.write(Array("\(processID)\n".utf8), at: 0)
    }

    /// The maximum length of a process number, in bytes.
    private static let textLimitBytes = 16

    private static func readProcessID(_ handle: any FileHandle) throws(SystemError) -> Int32? {
        let text = try handle.bytes(0, textLimitBytes)
        return Int32(String(decoding: text.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
    }
}
