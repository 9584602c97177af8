import Spool
import SpoolCore
import SpoolStore
import SpoolSystem

/// A resource of an encrypted store that a `ByteReader` reads into memory, in this process,
/// compared with OpenSSL opening as many bytes in the CPU's cache.
struct EncryptedReadRow: Row {
    let algorithm: CipherAlgorithm
    var name: String { "encrypted-read-\(algorithm.label)" }
    let ours = "reader"

    private static let rounds = 10
    private static let bytes = 512 * Workbench.mebibyte

    func run(on bench: Workbench) throws -> [Measure] {
        var cpu = Measure("cpu", "s/GiB")
        let source = try bench.media(), origin = try bench.origin()
        var configuration = Configuration()
        configuration.storage.directory = bench.newDirectory()
        configuration.security.encryption = EncryptionOptions(keyProvider: .key(try benchmarkKey()), algorithm: algorithm)
        let cache = try MediaCache(configuration: configuration)
        defer { blocking { await cache.close() } }
        let url = "http://127.0.0.1:\(origin.port)/\(source.name)", openSSL = try CipherSpeed(algorithm)
        let gibibytes = Double(Self.bytes) / Double(Workbench.gibibyte)
        // Round 0 stores, and compares the received bytes with the source.
        for round in 0...(bench.options.rounds ?? Self.rounds) {
            let start = ownCPUNanoseconds()
            try read(url, cache, comparedWith: round < 2 ? source : nil)
            let used = Double(ownCPUNanoseconds() - start) / 1e9
            let alone = try openSSL.seconds(for: Self.bytes)
            guard round > 1 || bench.options.rounds == 1 else { continue }
            cpu.add(used / gibibytes, of: ours)
            cpu.add(alone / gibibytes, of: "openssl")
        }
        return [cpu]
    }

    private func read(_ url: String, _ cache: MediaCache, comparedWith source: SourceFile?) throws {
        let reader = try cache.reader(for: url)
        nonisolated(unsafe) let source = source
        let wrong = blocking { () async -> String? in
            var offset: Int64 = 0
            do {
                for try await chunk in reader.chunks(in: 0..<Self.bytes) {
                    if let source, !chunk.withUnsafeBytes({ source.matches($0, at: offset) }) { return "wrong bytes at \(offset)" }
                    offset += Int64(chunk.count)
                }
            } catch { return "\(error)" }
            return offset == Self.bytes ? nil : "the body ended at \(offset)"
        }
        if let wrong { throw BenchmarkError("\(url): \(wrong)") }
    }
}

/// A resource of an encrypted store over HTTP, compared with the sum of the unavoidable parts: the
/// cipher, reading the file, sending.
struct EncryptedHitRow: Row {
    let algorithm: CipherAlgorithm
    var name: String { "encrypted-hit-1g-\(algorithm.label)" }

    private static let rounds = 10

    func run(on bench: Workbench) throws -> [Measure] {
        var cpu = Measure("cpu", "s/GiB"), parts = Measure("parts", "s/GiB")
        guard bench.options.spool != nil else { return [cpu] }
        let source = try bench.media(), server = try bench.encryptedSpool(algorithm)
        defer { server.stop() }
        let openSSL = try CipherSpeed(algorithm), path = bench.directory + "/origin/" + source.name
        // The first pass stores, and the second is the first from the store.
        for round in -1...(bench.options.rounds ?? Self.rounds) {
            let load = try LoadGenerator(port: server.port, connections: 1)
            let usage = server.usage, before = usage.cpuNanoseconds
            _ = try load.run(count: 1, source: source) { _ in
                LoadRequest(target: server.target(source.name), range: nil, expected: 0..<source.size, isChecked: round < 1)
            }
            let used = usage.cpuNanoseconds - before
            guard round > 0 else { continue }
            let alone = [
                ("cipher", try openSSL.seconds(for: source.size)), ("pread", try PlainCopy.readSeconds(path, bytes: source.size)),
                ("send", try PlainCopy.sendSeconds(bytes: source.size)),
            ]
            cpu.add(Double(used) / 1e9, of: server.name)
            cpu.add(alone.reduce(0) { $0 + $1.1 }, of: "parts")
            for (name, seconds) in alone { parts.add(seconds, of: name) }
        }
        return [cpu, parts]
    }
}

/// 32 bytes that are no secret.
func benchmarkKey() throws -> EncryptionKey {
    guard let key = EncryptionKey(bytes: [UInt8](repeating: 7, count: EncryptionKey.byteCount)) else { throw BenchmarkError("no key") }
    return key
}

extension CipherAlgorithm {
    var label: String { self == .aes256GCM ? "aes" : "chacha" }
    /// The name on the command line.
    var flag: String { self == .aes256GCM ? "aes-256-gcm" : "chacha20-poly1305" }
}

extension SourceFile {
    fileprivate func matches(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Bool {
        bytes.baseAddress.map { matches($0, count: bytes.count, at: offset) } ?? true
    }
}
