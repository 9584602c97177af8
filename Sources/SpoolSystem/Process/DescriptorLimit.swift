import SpoolLibc

/// The limit on the descriptors that this process may have open: sockets, files and all others
/// together.
///
/// Systems begin with a small soft limit (1024, on macOS 256) for programs that use `select`. Spool
/// does not use it.
package enum DescriptorLimit {
    /// The highest limit that `raise` sets. It is enough for every connection of a door, with a
    /// margin. Some programs walk through all numbers up to the limit when they start another
    /// program, so it should not be a million.
    package static let most = 65_536

    /// The current soft limit.
    package static var current: Int { limits.map { Int(clamping: $0.rlim_cur) } ?? 0 }

    /// Raises the soft limit to the hard one, but not above `most`. Never lowers it.
    ///
    /// - Returns: the limit afterwards.
    package static func raise() -> Int {
        guard var limits else { return 0 }
        let wanted = min(limits.rlim_max, rlim_t(most))
        if limits.rlim_cur < wanted {
            limits.rlim_cur = wanted
            #if canImport(Darwin)
            // "setrlimit() … EINVAL when rlim_cur is greater than OPEN_MAX".
            limits.rlim_cur = min(wanted, rlim_t(OPEN_MAX))
            _ = setrlimit(RLIMIT_NOFILE, &limits)
            #else
            _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
            #endif
        }
        return current
    }

    private static var limits: rlimit? {
        var limits = rlimit()
        #if canImport(Darwin)
        return getrlimit(RLIMIT_NOFILE, &limits) == 0 ? limits : nil
        #else
        return getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0 ? limits : nil
        #endif
    }
}
