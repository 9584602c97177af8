import SpoolLibc

/// The reason why a benchmark could not be measured, with advice if there is any.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }

    /// A failed system call.
    static func system(_ operation: String, _ code: Int32 = errno) -> BenchmarkError {
        BenchmarkError("\(operation): \(String(cString: strerror(code)))")
    }
}
