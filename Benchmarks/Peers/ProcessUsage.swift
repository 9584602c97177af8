import SpoolLibc

/// The CPU time and memory of a program and its descendants, from the kernel's accounts.
struct ProcessUsage {
    private let processes: [pid_t]

    /// The program and its descendants at this moment.
    init(of program: Program) {
        processes = Self.family(of: program.process)
    }

    /// The program itself and its descendants.
    var processCount: Int { processes.count }

    /// The CPU time so far, user and system, in nanoseconds.
    ///
    /// Reads the CPU clock of each process (clock_getcpuclockid(3)). It has nanosecond resolution
    /// and includes ended threads. /proc/PID/stat counts the same time in ticks of 10 ms, and
    /// /proc/PID/task/*/schedstat omits ended threads.
    var cpuNanoseconds: UInt64 {
        processes.reduce(0) { sum, process in
            var clock = clockid_t()
            guard clock_getcpuclockid(process, &clock) == 0 else { return sum }
            return sum + nanoseconds(of: clock)
        }
    }

    /// Returns the CPU time of the threads with this name since their start, in nanoseconds, or nil
    /// if there are none.
    ///
    /// From /proc/PID/task/TID/schedstat, so only for threads that live as long as their program.
    func cpuNanoseconds(ofThread name: String) -> UInt64? {
        let threads = processes.flatMap { process in
            Self.threads(of: process).map { "/proc/\(process)/task/\($0)" }
        }
        let found = threads.filter { readSmallFile($0 + "/comm")?.split(separator: "\n").first == name[...] }
        guard !found.isEmpty else { return nil }
        return found.reduce(0) { sum, thread in
            sum + (readSmallFile(thread + "/schedstat")?.split(separator: " ").first.flatMap { UInt64($0) } ?? 0)
        }
    }

    private static func threads(of process: pid_t) -> [String] {
        fileNames(in: "/proc/\(process)/task") ?? []
    }

    /// The peak of resident memory in bytes, since the start or the last `forgetPeak`, summed over
    /// the processes.
    var peakResidentBytes: Int64 {
        processes.reduce(0) { sum, process in sum + Self.status("VmHWM:", of: process) }
    }

    /// The present resident memory in bytes, summed over the processes.
    var residentBytes: Int64 {
        processes.reduce(0) { sum, process in sum + Self.status("VmRSS:", of: process) }
    }

    /// The peak of this process alone, since its start.
    static var ownPeakResidentBytes: Int64 { status("VmHWM:", of: getpid()) }

    /// Resets the peak to the present resident size.
    func forgetPeak() throws {
        for process in processes {
            // proc(5), clear_refs: "5 … reset the peak resident set size to the process's current
            // resident set size".
            let descriptor = open("/proc/\(process)/clear_refs", O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw BenchmarkError.system("open clear_refs") }
            defer { close(descriptor) }
            guard write(descriptor, "5", 1) == 1 else { throw BenchmarkError.system("write clear_refs") }
        }
    }

    private static func status(_ field: String, of process: pid_t) -> Int64 {
        guard let text = readSmallFile("/proc/\(process)/status") else { return 0 }
        for line in text.split(separator: "\n") where line.hasPrefix(field) {
            let kibibytes = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
            return (kibibytes.flatMap { Int64($0) } ?? 0) * 1024
        }
        return 0
    }

    /// A process, its children and theirs.
    private static func family(of process: pid_t) -> [pid_t] {
        var found = [process]
        var next = 0
        while next < found.count {
            let parent = found[next]
            next += 1
            let text = readSmallFile("/proc/\(parent)/task/\(parent)/children") ?? ""
            found += text.split(separator: " ").compactMap { pid_t($0) }
        }
        return found
    }
}
