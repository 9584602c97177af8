import SpoolLibc

/// A self-signed certificate for the addresses of an origin of the harness.
struct CertificateAuthority {
    let certificate: String
    let key: String

    /// Makes the certificate with the `openssl` program, or uses an existing one.
    init(directory: String, addresses: [String]) throws {
        certificate = directory + "/certificate.pem"
        key = directory + "/key.pem"
        guard access(certificate, R_OK) != 0 else { return }
        try makeDirectory(directory)
        let names = addresses.map { "IP:\($0)" }.joined(separator: ",")
        let words = [
            "/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=benchmark origin", "-addext", "subjectAltName=\(names)", "-keyout", key, "-out", certificate,
        ]
        guard output(of: words, logPath: directory + "/log") != nil else {
            throw BenchmarkError("openssl made no certificate: \(readSmallFile(directory + "/log") ?? "it is not installed")")
        }
    }
}
