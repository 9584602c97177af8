#if os(Linux)
import SpoolCore
import SpoolLibc
import SpoolSystem
import Testing

@Suite(.timeLimit(.minutes(20)), .enabled(if: Cores.allowed.count > 1, "this machine gives the tests one core only"))
struct LoopCoreReservationTests {
    private let thread: LoopThread
    private let lane = DiskLane(name: "lane")
    private let cores = Cores.allowed
    /// The core that the loop is pinned to.
    private let core: Int32

    init() throws {
        thread = try LoopThread(name: "loop")
        let core = try #require(cores.min())
        self.core = core
        thread.wait { done in
            Cores.pin(to: core)
            done()
        }
    }

    @Test func `a lane avoids the core of a busy loop`() {
        thread.keepOffItsCore([lane])
        passTurn()
        #expect(allowed() == cores.subtracting([core]))
    }

    @Test func `a lane runs on any core once the loop has slept long enough`() {
        thread.wait { [loop = thread.loop, lane] done in
            loop.keepOffItsCore([lane.thread], rest: 1)
            done()
        }
        passTurn()
        while allowed() != cores {}
    }

    @Test func `a lane may use the core again after the loop ends`() throws {
        var loop: LoopThread? = try LoopThread(name: "short")
        loop?.wait { [core] done in
            Cores.pin(to: core)
            done()
        }
        loop?.keepOffItsCore([lane])
        loop?.wait { $0() }
        loop?.wait { $0() }
        #expect(allowed() == cores.subtracting([core]))
        loop = nil
        #expect(allowed() == cores)
    }

    @Test func `a thread that may run on one core only stays there`() {
        onLane { [core] in Cores.pin(to: core) }
        thread.keepOffItsCore([lane])
        passTurn()
        #expect(allowed() == [core])
    }

    @Test func `an ended lane changes no affinity of its caller`() {
        onLane {}
        lane.shutdown()
        thread.keepOffItsCore([lane])
        passTurn()
        let here = Locked<Set<Int32>>([])
        thread.wait { done in
            here.withLock { $0 = Cores.allowed }
            done()
        }
        #expect(here.withLock { $0 } == [core])
    }

    @Test func `an ended thread changes no affinity of its caller`() {
        let ended = SystemThread(name: "ended") {}
        // The calls come before, while and after the thread ends.
        for round in 0...10_000 { ended.avoid(core: round % 2 == 0 ? core : nil) }
        #expect(Cores.allowed == cores)
    }

    /// Returns when the loop has ended a turn with work.
    private func passTurn() {
        thread.wait { $0() }
        thread.wait { $0() }
    }

    private func allowed() -> Set<Int32> {
        let found = Locked<Set<Int32>>([])
        onLane { found.withLock { $0 = Cores.allowed } }
        return found.withLock { $0 }
    }

    private func onLane(_ body: @escaping @Sendable () -> Void) {
        let gate = Gate()
        lane.post {
            body()
            gate.open()
        }
        gate.wait()
    }
}

/// The cores on which the calling thread may run (sched_setaffinity(2)). Swift can import neither
/// call, because glibc hides them behind _GNU_SOURCE.
private enum Cores {
    private typealias Call = @convention(c) (pid_t, Int, UnsafeMutableRawPointer) -> Int32

    static var allowed: Set<Int32> {
        var bytes = [UInt8](repeating: 0, count: MemoryLayout<cpu_set_t>.size)
        guard call("sched_getaffinity", &bytes) else { return [] }
        return Set((0..<Int32(bytes.count * 8)).filter { bytes[Int($0) / 8] & (1 << ($0 % 8)) != 0 })
    }

    static func pin(to core: Int32) {
        var bytes = [UInt8](repeating: 0, count: MemoryLayout<cpu_set_t>.size)
        bytes[Int(core) / 8] = 1 << UInt8(core % 8)
        #expect(call("sched_setaffinity", &bytes), "can't keep a thread on core \(core)")
    }

    private static func call(_ name: String, _ bytes: inout [UInt8]) -> Bool {
        guard let symbol = dlsym(nil, name) else { return false }
        return bytes.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map { unsafeBitCast(symbol, to: Call.self)(0, bytes.count, $0) == 0 } ?? false
        }
    }
}
#endif
