import Foundation

/// A file of docs/traces.
package struct TraceFile: CustomStringConvertible, Sendable {
    private let url: URL

    /// The name of the file.
    package var description: String { url.lastPathComponent }

    /// Returns the text of the file.
    package func text() throws -> String { try String(contentsOf: url, encoding: .utf8) }
    /// Returns the parsed trace.
    package func read() throws -> LoadingTrace { try LoadingTrace(try text()) }

    /// All trace files, sorted by name. Empty if the package's directory is not the one of the
    /// build.
    package static let all: [TraceFile] = {
        var package = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { package.deleteLastPathComponent() }
        let directory = package.appendingPathComponent("docs/traces")
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory.path) else { return [] }
        return names.filter { $0.hasSuffix(".trace") }.sorted().map { TraceFile(url: directory.appendingPathComponent($0)) }
    }()
}
