import SpoolLibc

/// The identity of this process, and of the machine's current boot.
package enum ProcessIdentity {
    /// The process number.
    package static var processID: Int32 { getpid() }

    /// The largest size of this process in memory so far, in bytes (getrusage(2)). Nil on Apple's
    /// systems, whose tools measure it.
    package static var peakMemoryBytes: Int64? {
        #if canImport(Darwin)
        return nil
        #else
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return Int64(usage.ru_maxrss) * 1024
        #endif
    }

    /// Returns a text that changes with each boot of the machine, if it has one.
    ///
    /// After a new boot, the page cache is gone, together with all bytes that were written but not
    /// synced.
    package static func bootID() -> String? {
        #if canImport(Darwin)
        fact("kern.bootsessionuuid")
        #else
        let file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(file, &bytes, bytes.count)
        guard count > 0 else { return nil }
        let text = bytes.prefix(count).prefix { $0 > 0x20 }
        return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
        #endif
    }

    #if canImport(Darwin)
    /// Returns a text of the kernel by its name (sysctlbyname(3)), of at most 64 bytes, or nil.
    package static func fact(_ name: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: 64)
        var count = bytes.count
        guard sysctlbyname(name, &bytes, &count, nil, 0) == 0 else { return nil }
        let text = bytes.prefix(count).prefix { $0 != 0 }
        return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
    }
    #endif
}
