import SpoolLibc
import SpoolSystem

/// The process that has a store, by the store's lock file.
enum StoreHolder {
    /// The longest text that is read of a file, in bytes.
    private static let limitBytes = 64

    /// Returns the number of the other process of this program that has the store in a directory.
    /// Nil when none has it, when another program has it, and where the system names no programs.
    ///
    /// The file keeps the number of a process that was killed. Its lock is free then, so call this
    /// only after the store could not be locked.
    static func command(in directory: String) -> Int32? {
        guard let process = text(of: directory + "/lock").flatMap(Int32.init), process != ProcessIdentity.processID,
            let name = text(of: "/proc/\(process)/comm"), name == text(of: "/proc/self/comm")
        else { return nil }
        return process
    }

    /// Returns the first line of a file, or nil without the file.
    private static func text(of path: String) -> String? {
        // A file that can't be read counts as missing.
        guard let text = try? POSIXFileSystem().contents(of: path, limit: limitBytes) else { return nil }
        return String(decoding: text.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
