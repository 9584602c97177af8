import Dispatch
import SpoolSystem

/// Waits for what other threads do; for the thread of a row, which has nothing else to do.
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
