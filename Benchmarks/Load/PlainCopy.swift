import SpoolLibc
import SpoolSystem

/// The CPU time of the calling thread for reading a file from the page cache, and for sending bytes
/// over loopback.
enum PlainCopy {
    private static let chunkBytes = 256 * 1024

    /// Reads `bytes` bytes of a file from its beginning, 64 KiB a call into the same memory, and
    /// returns the CPU seconds.
    static func readSeconds(_ path: String, bytes: Int64) throws -> Double {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw BenchmarkError.system("open \(path)") }
        defer { close(descriptor) }
        let size = CipherSpeed.blockBytes
        var memory = [UInt8](repeating: 0, count: size)
        let start = nanoseconds(of: CLOCK_THREAD_CPUTIME_ID)
        for offset in stride(from: 0, to: Int(bytes), by: size) {
            guard pread(descriptor, &memory, size, off_t(offset)) == size else { throw BenchmarkError.system("pread") }
        }
        return Double(nanoseconds(of: CLOCK_THREAD_CPUTIME_ID) - start) / 1e9
    }

    /// Sends `bytes` bytes from memory to a thread that reads them, and returns the CPU seconds.
    /// The connection is not paced, like the program's own loopback connections.
    static func sendSeconds(bytes: Int64) throws -> Double {
        let (listener, port) = try listenOnLoopback()
        defer { close(listener) }
        let sender = try connectLoopback(port: port), receiver = accept(listener, nil, nil)
        guard receiver >= 0, fcntl(sender, F_SETFL, 0) == 0 else { throw BenchmarkError.system("accept") }
        defer { close(receiver) }
        let control = "reno"
        guard setsockopt(sender, Int32(IPPROTO_TCP), TCP_CONGESTION, control, socklen_t(control.utf8.count)) == 0 else {
            throw BenchmarkError.system("setsockopt TCP_CONGESTION")
        }
        let thread = SystemThread(name: "takes-bytes") {
            var memory = [UInt8](repeating: 0, count: chunkBytes)
            while recv(receiver, &memory, chunkBytes, 0) > 0 {}
        }
        let memory = [UInt8](repeating: 1, count: chunkBytes)
        let start = nanoseconds(of: CLOCK_THREAD_CPUTIME_ID)
        var left = Int(bytes)
        while left > 0 {
            let sent = send(sender, memory, min(left, chunkBytes), Int32(MSG_NOSIGNAL))
            guard sent > 0 else { throw BenchmarkError.system("send") }
            left -= sent
        }
        let used = nanoseconds(of: CLOCK_THREAD_CPUTIME_ID) - start
        close(sender)
        thread.join()
        return Double(used) / 1e9
    }
}
