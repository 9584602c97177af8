import SpoolCore
import SpoolSystem
import Testing

@Suite(.timeLimit(.minutes(20)))
struct LoopThreadTests {
    @Test func `a shared thread ends with its last owner, and not before`() throws {
        var first: LoopThread? = try LoopThread(name: "test")
        let loop = try #require(first?.loop)
        var second = first
        first = nil
        let gate = Gate()
        loop.post { gate.open() }
        gate.wait()
        // This keeps `second` alive up to this line.
        withExtendedLifetime(second) {}
        second = nil
        // The release has waited for the thread, so no thread is left to run this.
        loop.post { Issue.record("ran after the end") }
    }

    @Test func `releasing the thread on itself does not wait for it`() throws {
        let holder = Locked<LoopThread?>(try LoopThread(name: "test"))
        let loop = try #require(holder.withLock { $0?.loop })
        let gate = Gate()
        loop.post {
            let last = holder.withLock { holder in
                defer { holder = nil }
                return holder
            }
            withExtendedLifetime(last) { gate.open() }
        }
        gate.wait()
    }

    @Test func `waiting for work on the loop ends with the work's callback`() throws {
        let thread = try LoopThread(name: "test")
        let steps = Locked<[String]>([])
        thread.wait { done in
            thread.loop.post {
                steps.withLock { $0.append("later") }
                done()
            }
            steps.withLock { $0.append("now") }
        }
        #expect(steps.withLock { $0 } == ["now", "later"])
    }

    @Test func `waiting on the loop itself returns without blocking`() throws {
        let thread = try LoopThread(name: "test")
        let steps = Locked<[String]>([])
        let gate = Gate()
        thread.loop.post {
            thread.wait { done in
                steps.withLock { $0.append("work") }
                done()
                gate.open()
            }
            steps.withLock { $0.append("went on") }
        }
        gate.wait()
        #expect(steps.withLock { $0 } == ["went on", "work"])
    }
}
