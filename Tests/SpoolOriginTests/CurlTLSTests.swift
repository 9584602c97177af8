#if os(Linux)
import Foundation
import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTesting
import Testing

/// The transport always verifies TLS. A server with a self-made certificate tests that.
@Suite(.serialized, .timeLimit(.minutes(20)), .enabled(if: TLSServer.isAvailable, "needs the openssl program"))
struct CurlTLSTests {
    private func ask(_ url: String, trusting file: String?) -> TransferProbe {
        var options = CurlTransportOptions()
        options.certificateFile = file
        let transport = CurlTransport(options: options)
        defer { transport.close() }
        let probe = TransferProbe()
        probe.start(OriginRequest(url: url, fields: [:]), on: transport)
        _ = probe.waitForEnd()
        return probe
    }

    @Test func `a certificate from an unknown authority is rejected before any request`() throws {
        let server = try TLSServer()
        defer { server.stop() }
        let probe = ask("https://localhost:\(server.port)/", trusting: nil)
        guard case .failed(.tls) = probe.value.end else { return unexpected("\(probe.value)") }
        #expect(probe.value.head == nil)
    }

    @Test func `a certificate for another name is rejected`() throws {
        let server = try TLSServer()
        defer { server.stop() }
        let probe = ask("https://127.0.0.1:\(server.port)/", trusting: server.certificate)
        guard case .failed(.tls) = probe.value.end else { return unexpected("\(probe.value)") }
    }

    @Test func `a certificate that the app trusts is accepted`() throws {
        let server = try TLSServer()
        defer { server.stop() }
        let probe = ask("https://localhost:\(server.port)/", trusting: server.certificate)
        #expect(probe.value.head?.status == 200)
        #expect(probe.value.violations == [])
    }
}

/// Runs `openssl s_server` on a free port, with a certificate for `localhost`.
private struct TLSServer {
    static let isAvailable = FileManager.default.isExecutableFile(atPath: program)
    private static let program = "/usr/bin/openssl"

    struct ServerFailure: Error {
        let output: String
    }

    let port: Int
    let certificate: String
    private let process = Process()
    private let directory: URL

    init() throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("spool-tls-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        certificate = directory.appendingPathComponent("certificate.pem").path
        let key = directory.appendingPathComponent("key.pem").path
        try Self.makeCertificate(certificate, key)
        process.executableURL = URL(fileURLWithPath: Self.program)
        process.arguments = ["s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", key, "-www"]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        // The output has "ACCEPT 127.0.0.1:12345" after some lines about parameters.
        var text = ""
        while !text.contains("ACCEPT") || !text.hasSuffix("\n"), case let data = output.fileHandleForReading.availableData, !data.isEmpty {
            text += String(decoding: data, as: UTF8.self)
        }
        let line = text.split(separator: "\n").first { $0.hasPrefix("ACCEPT") }
        guard let number = line?.split(separator: ":").last.flatMap({ Int($0) }) else {
            kill(process.processIdentifier, SIGKILL)
            throw ServerFailure(output: text)
        }
        port = number
    }

    /// Makes a certificate for `localhost`.
    static func makeCertificate(_ certificate: String, _ key: String) throws {
        let maker = Process()
        maker.executableURL = URL(fileURLWithPath: program)
        maker.arguments =
            ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
            + ["-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate]
        maker.standardError = FileHandle.nullDevice
        try maker.run()
        maker.waitUntilExit()
    }

    func stop() {
        // SIGTERM does not work here, because a child may have inherited it blocked.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        #expect(throws: Never.self) { try FileManager.default.removeItem(at: directory) }
    }
}

/// Transfers that stop, over TLS and over streams of HTTP/2.
@Suite(
    .serialized, .timeLimit(.minutes(20)),
    .enabled(if: TLSServer.isAvailable && SecureNginx.isAvailable, "needs the openssl and nginx programs"))
struct SecureStoppingTests {
    /// The bytes fit into the first window of a connection, and into that of an HTTP/2 connection.
    private static let length: Int64 = 60_000

    @Test(arguments: [CurlTransportOptions.HTTPVersion.http1, .http2])
    func `a transfer over TLS that stops hands over the bytes that have arrived`(version: CurlTransportOptions.HTTPVersion) throws {
        let content = OriginContent(seed: 4), server = try SecureNginx(content.bytes(at: 0, count: Int(Self.length)))
        defer { server.stop() }
        var options = CurlTransportOptions()
        (options.version, options.certificateFile) = (version, server.certificate)
        (options.stopTime, options.stopTurnTime) = (.seconds(300), .seconds(300))
        let transport = CurlTransport(options: options), take = Locked(false)
        defer { transport.close() }
        let probe = TransferProbe(content, reaction: { _, _ in take.withLock { $0 } ? .taken : .pause })
        probe.start(OriginRequest(url: server.url, fields: [:]), on: transport)
        #expect(probe.wait { $0.pauses == 1 })
        // nginx has given everything to the kernel then.
        server.wait(for: "log")
        take.withLock { $0 = true }
        probe.transfer?.stop()
        #expect(probe.waitForEnd() == .complete)
        #expect(probe.value.bytes == Self.length && probe.value.violations.isEmpty)
    }
}

/// Runs nginx with TLS and HTTP/2 on a free port, with one file.
private struct SecureNginx {
    static let isAvailable = FileManager.default.isExecutableFile(atPath: program)
    private static let program = "/usr/sbin/nginx"

    let certificate: String
    let url: String
    private let process = Process()
    private let directory: URL

    init(_ bytes: [UInt8]) throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("spool-nginx-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        // A port that was free a moment ago.
        let other = try RawOrigin([])
        other.stop()
        let path = directory.path, port = other.port
        certificate = path + "/certificate.pem"
        url = "https://localhost:\(port)/v"
        try TLSServer.makeCertificate(certificate, path + "/key.pem")
        try Data(bytes).write(to: directory.appendingPathComponent("v"))
        let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(path)/\($0);" }.joined()
        let configuration = """
            daemon off; master_process off; pid \(path)/pid; error_log \(path)/errors; events {}
            http {
                \(places) access_log \(path)/log;
                ssl_certificate \(certificate); ssl_certificate_key \(path)/key.pem;
                server { listen 127.0.0.1:\(port) ssl http2; root \(path); }
            }
            """
        try Data(configuration.utf8).write(to: directory.appendingPathComponent("configuration"))
        process.executableURL = URL(fileURLWithPath: Self.program)
        process.arguments = ["-p", path, "-c", path + "/configuration", "-e", path + "/errors"]
        try process.run()
        // nginx listens before it writes its number.
        wait(for: "pid")
    }

    /// Waits until nginx has written to one of its files. It logs a response that it has sent.
    func wait(for file: String) {
        let path = directory.appendingPathComponent(file).path
        while FileManager.default.contents(atPath: path)?.isEmpty != false { sched_yield() }
    }

    func stop() {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        #expect(throws: Never.self) { try FileManager.default.removeItem(at: directory) }
    }
}
#endif
