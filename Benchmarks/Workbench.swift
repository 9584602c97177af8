import SpoolLibc
import SpoolStore

/// The files, the origin and the programs that rows share. Each is made at its first use.
final class Workbench {
    let options: Options
    let directory: String
    private var count = 0
    private var sources: [String: SourceFile] = [:]
    private var storesOfNotes: [Int: String] = [:]
    private var running: [String: any Server] = [:]
    /// The programs that were left out, with the reasons.
    private(set) var leftOut: [String: String] = [:]

    static let mebibyte: Int64 = 1 << 20
    static let gibibyte: Int64 = 1 << 30
    /// The media, a stored copy, three caches that are filled at the same time, and a reserve for
    /// the kernel.
    private static let neededBytes = 12 * gibibyte
    private static let fillingConnections = 16
    /// The number of resources that one process stores, because a program with all its files open
    /// passes on the rest unstored.
    private static let fillingBatch = 10_000
    /// A program that is ended sooner leaves files that every later start has to sync.
    private static let fillingStopSeconds = 600

    init(_ options: Options) throws {
        self.options = options
        var template = Array((options.directory + "/spool-benchmarks-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else { throw BenchmarkError.system("mkdtemp in \(options.directory)") }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let free = freeBytes(at: directory)
        if free < Self.neededBytes {
            close()
            throw BenchmarkError(
                "\(options.directory) has \(free >> 30) GiB free, \(Self.neededBytes >> 30) are needed; name another by --directory")
        }
        // Programs that run as `nobody` have to reach their directories in it.
        guard getuid() != 0 || chmod(directory, 0o711) == 0 else { throw BenchmarkError.system("chmod \(directory)") }
        try makeDirectory(directory + "/origin")
    }

    /// Ends every program and deletes every file.
    func close() {
        for server in running.values { server.stop() }
        running = [:]
        sources = [:]
        removeTree(directory)
    }

    // MARK: Files at the origin

    /// 1 GiB of random bytes.
    func media() throws -> SourceFile {
        try source("media.bin", size: Self.gibibyte, filled: [0..<Self.gibibyte])
    }

    /// 1 MiB of random bytes, requested under many names by a query.
    func segment() throws -> SourceFile {
        try source("segment.bin", size: Self.mebibyte, filled: [0..<Self.mebibyte])
    }

    /// 1 KiB of random bytes, requested under many names by a query.
    func note() throws -> SourceFile {
        try source("note.bin", size: 1024, filled: [0..<1024])
    }

    /// The regions of `sparse` with bytes: 64 of 4 MiB.
    static let sparseRegions = (0..<64).map { index in
        let lower = Int64(index) * 80 * mebibyte
        return lower..<lower + 4 * mebibyte
    }

    /// 5 GiB, most of them holes.
    func sparse() throws -> SourceFile {
        try source("sparse.bin", size: 5 * Self.gibibyte, filled: Self.sparseRegions)
    }

    /// The targets of seeks in `film`: 32 regions of 16 MiB with bytes. An origin sends about that
    /// much of an open-ended range before it is stopped, and it has to come from the page cache. A
    /// hole would have to be read first.
    static let filmRegions = (0..<32).map { index in
        let lower = Int64(index) * 128 * mebibyte
        return lower..<lower + 16 * mebibyte
    }

    /// 4 GiB, most of them holes.
    func film() throws -> SourceFile {
        try source("film.bin", size: 4 * Self.gibibyte, filled: Self.filmRegions)
    }

    /// 256 MiB of random bytes.
    func clip() throws -> SourceFile {
        try source("clip.bin", size: 256 * Self.mebibyte, filled: [0..<256 * Self.mebibyte])
    }

    /// Bytes at its beginning, then holes, `count` MiB in all.
    func sparse(mebibytes count: Int) throws -> SourceFile {
        try source("sparse-\(count).bin", size: Int64(count) * Self.mebibyte, filled: [0..<Self.mebibyte])
    }

    private func source(_ name: String, size: Int64, filled: [Range<Int64>]) throws -> SourceFile {
        if let source = sources[name] { return source }
        let source = try SourceFile(name: name, directory: directory + "/origin", size: size, filled: filled, seed: 1)
        sources[name] = source
        return source
    }

    // MARK: Programs

    /// The origin of every cache.
    func origin() throws -> any Server {
        try shared("origin") { try Nginx("origin", .files(root: directory + "/origin"), directory: $0) }
    }

    /// A slow line, or nil where none can be made.
    func line(_ congestion: SlowLine.Congestion = .cubic) throws -> SlowLine? {
        optional("a line with \(congestion.rawValue)") { try SlowLine(congestion, directory: directory) }
    }

    /// An origin of the same files at the end of a line.
    func origin(behind line: SlowLine) throws -> Nginx {
        try Nginx(
            "line-origin", .files(root: directory + "/origin"), directory: newDirectory(), address: SlowLine.address, port: line.originPort)
    }

    /// An origin of the same files that counts the bytes it sends. It is not shared, so each
    /// program can have its own.
    func countedOrigin() throws -> Nginx {
        try Nginx("counted-origin", .countedFiles(root: directory + "/origin"), directory: newDirectory())
    }

    /// The same files over HTTP/2 and TLS, with the authority of their certificate.
    func secureOrigin() throws -> (server: any Server, authority: CertificateAuthority) {
        let authority = try CertificateAuthority(directory: directory + "/authority", addresses: Nginx.hosts)
        let server = try shared("secure-origin") {
            try Nginx("secure-origin", .secureFiles(root: directory + "/origin", authority), directory: $0)
        }
        return (server, authority)
    }

    /// The peer of hits: the same files, served by an nginx other than the origin.
    func files(workers: Int = 1) throws -> any Server {
        let name = workers == 1 ? "nginx-static" : "nginx-\(workers)"
        return try shared(name) { try Nginx(name, .files(root: directory + "/origin"), directory: $0, workers: workers) }
    }

    /// Spool with the media stored and its blocks verified, or nil when only peers run.
    ///
    /// - Parameter name: The name in the table.
    func storedSpool(name: String = "spool", loops: Int = 1) throws -> (any Server)? {
        guard let executable = options.spool else { return nil }
        return try shared("\(name)-stored-\(loops)") { directory in
            let flags = loops == 1 ? [] : ["--loops", "\(loops)"]
            let server = try SpoolServe(
                executable: executable, directory: directory, origin: try origin().port, flags: flags, name: name)
            // The first pass stores, and the second verifies the file.
            for _ in 0..<2 { try fetchWhole(server, try media(), isChecked: true) }
            return server
        }
    }

    /// An empty cache of Spool, or nil when only peers run.
    func emptySpool() throws -> (any Server)? { try emptySpool(before: origin()) }

    /// An empty cache of Spool before another origin than the common one, or nil when only peers
    /// run.
    func emptySpool(before origin: any Server, flags: [String] = []) throws -> SpoolServe? {
        guard let executable = options.spool else { return nil }
        return try SpoolServe(executable: executable, directory: newDirectory(), origin: origin.port, flags: flags)
    }

    /// Spool on a cache directory, which may have contents.
    func spool(_ directory: String) throws -> any Server {
        guard let executable = options.spool else { throw BenchmarkError("no program under test: name it by --spool") }
        return try SpoolServe(executable: executable, directory: directory, origin: try origin().port)
    }

    /// A cache directory in which the note is stored under many names.
    func storeOfNotes(_ resources: Int) throws -> String {
        if let directory = storesOfNotes[resources] { return directory }
        let source = try note(), directory = newDirectory()
        for first in stride(from: 0, to: resources, by: Self.fillingBatch) {
            let server = try spool(directory)
            let count = min(Self.fillingBatch, resources - first)
            let load = try LoadGenerator(port: server.port, connections: min(Self.fillingConnections, count))
            _ = try load.run(count: count, source: source) { noteRequest(to: server, source, number: first + $0) }
            // Syncs all files at once. Syncing them one by one, as the program's last durable point
            // does, takes minutes.
            sync()
            server.stop(seconds: Self.fillingStopSeconds)
        }
        storesOfNotes[resources] = directory
        return directory
    }

    /// Returns a request for the note under one of its names.
    func noteRequest(to server: any Server, _ source: SourceFile, number: Int) -> LoadRequest {
        LoadRequest(target: server.target("\(source.name)?n=\(number)"), range: nil, expected: 0..<source.size, isChecked: true)
    }

    /// An empty encrypted cache of Spool.
    func encryptedSpool(_ algorithm: CipherAlgorithm) throws -> any Server {
        guard let executable = options.spool else { throw BenchmarkError("no program under test: name it by --spool") }
        let directory = newDirectory(), keyFile = directory + ".key"
        // 64 digits, in a file for its owner alone.
        try writeFile(String(repeating: "07", count: 32), to: keyFile)
        guard chmod(keyFile, 0o600) == 0 else { throw BenchmarkError.system("chmod \(keyFile)") }
        return try SpoolServe(
            executable: executable, directory: directory, origin: try origin().port,
            flags: ["--key-file", keyFile, "--cipher", algorithm.flag])
    }

    /// An empty cache of Spool before an origin with HTTP/2, or nil when only peers run.
    func emptySpoolOverHTTP2() throws -> (any Server)? {
        guard let executable = options.spool else { return nil }
        let (server, authority) = try secureOrigin()
        return try SpoolServe(executable: executable, directory: newDirectory(), origin: server.port, authority: authority)
    }

    /// An empty nginx cache.
    func emptyNginx(_ name: String, _ role: NginxRole) throws -> any Server {
        try Nginx(name, role, directory: newDirectory())
    }

    /// Varnish, Squid and rclone with the media stored, as far as they can be started.
    func storedOthers() throws -> [any Server] {
        let origin = try origin().port, source = try media()
        return OtherCacheKind.allCases.compactMap { kind in
            optional(kind.rawValue) {
                try shared(kind.rawValue) { directory in
                    let server = try OtherCache(kind, origin: origin, directory: directory)
                    try fetchWhole(server, source, isChecked: true)
                    return server
                }
            }
        }
    }

    /// One of them with an empty cache, or nil if it cannot be started.
    func emptyOther(_ kind: OtherCacheKind) throws -> (any Server)? {
        let origin = try origin().port
        return optional(kind.rawValue) { try OtherCache(kind, origin: origin, directory: newDirectory()) }
    }

    /// Returns a directory without other users.
    func newDirectory() -> String {
        count += 1
        return directory + "/\(count)"
    }

    private func shared(_ name: String, _ start: (String) throws -> any Server) throws -> any Server {
        if let server = running[name] { return server }
        let server = try start(directory + "/" + name)
        running[name] = server
        return server
    }

    // MARK: Rounds

    /// Calls `body` for each server in turn, so that other load on the machine affects all of them.
    ///
    /// Round 0 warms up and is not recorded. The order is reversed with every round. An optional
    /// server takes part in the first round and in every third one after it, since it may take many
    /// times as long.
    func alternate(_ servers: [any Server], rounds: Int, _ body: (any Server, Int) throws -> Void) throws {
        for round in 0...(options.rounds ?? rounds) {
            for server in round % 2 == 0 ? servers : servers.reversed() where takesPart(server.isOptional, in: round) {
                guard server.isOptional else {
                    try body(server, round)
                    continue
                }
                _ = optional(server.name) { try body(server, round) }
            }
        }
    }

    /// Whether a server is measured in this round.
    func takesPart(_ isOptional: Bool, in round: Int) -> Bool {
        !isOptional || round == 0 || round % 3 == 1
    }

    /// Runs `body` for an optional program. A failure leaves the program out from then on.
    func optional<Value>(_ name: String, _ body: () throws -> Value) -> Value? {
        guard leftOut[name] == nil else { return nil }
        do {
            return try body()
        } catch {
            leftOut[name] = "\(error)"
            return nil
        }
    }

    /// Reads a whole resource once, outside any measurement.
    func fetchWhole(_ server: any Server, _ source: SourceFile, isChecked: Bool) throws {
        let load = try LoadGenerator(port: server.port, connections: 1)
        _ = try load.run(count: 1, source: source) { _ in
            LoadRequest(target: server.target(source.name), range: nil, expected: 0..<source.size, isChecked: isChecked)
        }
    }
}
