#if os(Linux)
import Foundation
import SpoolCore
import SpoolOrigin
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
        let maker = Process()
        maker.executableURL = URL(fileURLWithPath: Self.program)
        maker.arguments =
            ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
            + ["-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate]
        maker.standardError = FileHandle.nullDevice
        try maker.run()
        maker.waitUntilExit()

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

    func stop() {
        // SIGTERM does not work here, because a child may have inherited it blocked.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        #expect(throws: Never.self) { try FileManager.default.removeItem(at: directory) }
    }
}
#endif
