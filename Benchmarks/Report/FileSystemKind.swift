import SpoolLibc

/// The file system below the files of a run.
enum FileSystemKind {
    /// Returns a description for the head of the report. An ext4 without a journal makes files
    /// slowly after deletions, see `emptyTree`.
    static func words(_ directory: String) -> String {
        guard let device = device(of: directory), let name = name(of: device) else { return "not known" }
        guard name == "ext4", let hasJournal = hasJournal(device) else { return name }
        return hasJournal ? "ext4 with a journal" : "ext4 without a journal: slow to make files in the minutes after many were deleted"
    }

    /// Returns the number of the device, as the kernel writes it.
    private static func device(of directory: String) -> String? {
        var status = stat()
        guard stat(directory, &status) == 0 else { return nil }
        // makedev(3)
        let major = (status.st_dev >> 8) & 0xFFF, minor = (status.st_dev & 0xFF) | ((status.st_dev >> 12) & 0xFFF00)
        return "\(major):\(minor)"
    }

    /// Returns the type of the device's file system. The third field is the device's number, and
    /// the type follows a dash (proc_pid_mountinfo(5)).
    private static func name(of device: String) -> String? {
        for line in (readSmallFile("/proc/self/mountinfo") ?? "").split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count > 2, fields[2] == device, let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count else { continue }
            return String(fields[dash + 1])
        }
        return nil
    }

    /// Whether the kernel keeps a journal for the device (`/proc/fs/jbd2`), or nil if that is
    /// unknown.
    private static func hasJournal(_ device: String) -> Bool? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/sys/dev/block/" + device, &buffer, buffer.count)
        guard count > 0, access("/proc/fs/ext4", F_OK) == 0 else { return nil }
        let link = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard let name = link.split(separator: "/").last else { return nil }
        return (fileNames(in: "/proc/fs/jbd2") ?? []).contains { $0.hasPrefix(name + "-") }
    }
}
