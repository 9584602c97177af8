package import SpoolCore

/// A callback that gets the end of a call: its value, or the error.
package typealias Completion<Value> = @Sendable (Result<Value, CacheError>) -> Void

extension Result where Failure == CacheError {
    /// Calls `next` with the value, or ends `done` with the error.
    package func or<Other>(_ done: Completion<Other>, _ next: (Success) -> Void) {
        switch self {
        case .success(let value): next(value)
        case .failure(let error): done(.failure(error))
        }
    }
}

/// Waits for the result of an asynchronous operation.
///
/// - Parameter onCancel: Called on any thread when the task of the caller is cancelled.
func result<Value: Sendable>(
    onCancel: @escaping @Sendable () -> Void = {}, _ begin: (_ done: @escaping Completion<Value>) -> Void
) async throws(CacheError) -> Value {
    try await withTaskCancellationHandler {
        await withCheckedContinuation { (continuation: CheckedContinuation<Result<Value, CacheError>, Never>) in
            begin { continuation.resume(returning: $0) }
        }
    } onCancel: {
        onCancel()
    }.get()
}
