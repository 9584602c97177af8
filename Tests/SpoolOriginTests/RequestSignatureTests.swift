#if os(Linux)
import SpoolCore
import SpoolOrigin
import SpoolTesting
import Testing

/// Requests that libcurl signs for an S3-compatible store.
@Suite(.timeLimit(.minutes(20)))
struct RequestSignatureTests {
    private static let signature = RequestSignature(
        region: "eu-test-1", accessKey: "account:user", secretKey: "secret-of-mine", sessionToken: "token-of-mine")

    /// Returns the fields with which the origin receives a signed request.
    private func sent(_ method: String = "GET", _ body: RequestBody? = nil) throws -> HTTPFields {
        let origin = try RawOrigin([VirtualResource(url: "/media/abc", seed: 4, length: 1000)])
        let transport = CurlTransport()
        defer {
            transport.close()
            origin.stop()
        }
        var request = OriginRequest(url: origin.url("/media/abc"), fields: ["Range": "bytes=-10"])
        request.method = method
        request.body = body
        request.signature = Self.signature
        let probe = TransferProbe()
        probe.start(request, on: transport)
        #expect(probe.waitForEnd() != nil)
        return try #require(origin.log.entries.first).request.fields
    }

    @Test func `a signature covers the host, the range, the time and the token, and no field that a balancer may change`() throws {
        let fields = try sent()
        let authorization = try #require(fields[.authorization])
        #expect(authorization.hasPrefix("AWS4-HMAC-SHA256 Credential=account:user/"))
        #expect(authorization.contains("/eu-test-1/s3/aws4_request"))
        #expect(authorization.contains("SignedHeaders=host;range;x-amz-content-sha256;x-amz-date;x-amz-security-token,"))
        #expect(fields["x-amz-content-sha256"] == "UNSIGNED-PAYLOAD" && fields["x-amz-security-token"] == "token-of-mine")
        #expect(!fields.lines.contains { $0.value.contains("secret-of-mine") })
    }

    @Test func `an upload is signed as well`() throws {
        let fields = try sent("PUT", RequestBody([1, 2, 3]))
        #expect(fields[.authorization]?.hasPrefix("AWS4-HMAC-SHA256 ") == true && fields["Content-Length"] == "3")
    }

    @Test func `a request without a signature has none, also on a handle that signed before`() throws {
        let origin = try RawOrigin([VirtualResource(url: "/v", seed: 4, length: 1000)])
        let transport = CurlTransport()
        defer {
            transport.close()
            origin.stop()
        }
        for signature in [Self.signature, nil] {
            var request = OriginRequest(url: origin.url("/v"), fields: [:])
            request.signature = signature
            let probe = TransferProbe(OriginContent(seed: 4))
            probe.start(request, on: transport)
            #expect(probe.waitForEnd() == .complete)
        }
        let fields = origin.log.entries.map(\.request.fields)
        #expect(fields.count == 2 && fields[1][.authorization] == nil && !fields[1].lines.contains { $0.name.hasPrefix("x-amz") })
    }

    @Test func `no text of a signature has a secret`() {
        #expect(!"\(Self.signature) \(String(reflecting: Self.signature)) \([Self.signature])".contains("of-mine"))
    }
}
#endif
