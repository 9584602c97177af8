import SpoolLibc

/// The facts about the machine that a reader needs to judge the figures.
enum Machine {
    /// Returns names and values, in the order of the report.
    static func facts(directory: String) -> [(String, String)] {
        [
            ("date", date()),
            ("cores", String(sysconf(Int32(_SC_NPROCESSORS_ONLN)))),
            ("processor", processor()),
            ("kernel", line("/proc/sys/kernel/osrelease")),
            ("load average at the start", line("/proc/loadavg").split(separator: " ").prefix(3).joined(separator: " ")),
            ("TCP congestion control", line("/proc/sys/net/ipv4/tcp_congestion_control")),
            ("loopback MTU", line("/sys/class/net/lo/mtu")),
            ("file system", FileSystemKind.words(directory)),
            ("nginx", nginx(directory)),
        ]
            + OtherCacheKind.allCases.map { ($0.rawValue, version(of: $0, directory)) } + [
                ("free page reporting to a host", reporting()),
                ("page cache", "warm: every file was written or read through it before its first measured round"),
            ]
    }

    /// The load average of the last minute. It is printed after the run too, because absolute times
    /// mean little on a busy machine.
    static func load() -> String {
        line("/proc/loadavg").split(separator: " ").first.map(String.init) ?? "-"
    }

    /// Whether free memory returns to a hypervisor. See `FreshPagesRow`.
    private static func reporting() -> String {
        let order = line("/sys/module/page_reporting/parameters/page_reporting_order")
        return order == "-" ? "not known" : "blocks of 2^\(order) pages and more"
    }

    private static func line(_ path: String) -> String {
        let text = readSmallFile(path) ?? "-"
        return String(text.prefix { $0 != "\n" })
    }

    private static func date() -> String {
        var now = time(nil), parts = tm()
        gmtime_r(&now, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday)) \(two(parts.tm_hour)):\(two(parts.tm_min)) UTC"
    }

    private static func processor() -> String {
        let text = readSmallFile("/proc/cpuinfo") ?? ""
        let model = text.split(separator: "\n").first { $0.hasPrefix("model name") }
        return model.map { String($0.drop { $0 != ":" }.dropFirst(2)) } ?? "-"
    }

    /// Returns the first word with a digit in the program's version output.
    private static func version(of kind: OtherCacheKind, _ directory: String) -> String {
        guard let path = try? kind.executable(), let said = output(of: [path, kind.versionWord], logPath: directory + "/version") else {
            return "missing"
        }
        return said.split(whereSeparator: { " (\n".contains($0) }).first { $0.contains(where: \.isNumber) }.map(String.init) ?? said
    }

    private static func nginx(_ directory: String) -> String {
        guard let path = try? Nginx.executable(), let said = output(of: [path, "-v"], logPath: directory + "/nginx-version") else {
            return "missing"
        }
        return said.split(whereSeparator: { $0 == "/" || $0 == "\n" }).last.map(String.init) ?? said
    }
}
