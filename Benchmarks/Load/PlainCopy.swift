import Glibc
import SpoolSystem

/// What the kernel takes to read a file that is in its cache, and to send bytes to the loopback address: CPU seconds of the calling thread.
enum PlainCopy {
    private static let chunkBytes = 256 * 1024

    /// Reads `bytes` bytes of a file from its beginning, 64 KiB a call into the same memory.
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

    /// Sends `bytes` bytes from memory to a thread that takes them.
    static func sendSeconds(bytes: Int64) throws -> Double {
        let port = try freePort()
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard listener >= 0 else { throw BenchmarkError.system("socket") }
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        guard isBound == 0, listen(listener, 1) == 0 else { throw BenchmarkError.system("listen") }
        let sender = try connectLoopback(port: port), receiver = accept(listener, nil, nil)
        guard receiver >= 0, fcntl(sender, F_SETFL, 0) == 0 else { throw BenchmarkError.system("accept") }
        defer { close(receiver) }
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
