import Dispatch
import SpoolSystem

/// Waits for other threads. For the thread of a row, which has no other work.
func blocking<Value>(_ body: @escaping @Sendable () async -> Value) -> Value where Value: Sendable {
    let result = Locked<Value?>(nil), end = DispatchSemaphore(value: 0)
    Task.detached {
        let value = await body()
        result.withLock { $0 = value }
        end.signal()
    }
    end.wait()
    guard let value = result.withLock({ $0 }) else { preconditionFailure("signalled with a value") }
    return value
}
