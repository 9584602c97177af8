#if os(Linux)
internal import CCurl
internal import SpoolCore

extension OriginError {
    /// Returns the error for a code of libcurl.
    ///
    /// - Parameters:
    ///   - text: The message of libcurl.
    ///   - bodyBytes: The number of body bytes received, or nil if the head is not complete.
    ///   - hasAnswer: Whether any byte of the answer came.
    static func curl(_ code: CURLcode, _ text: String, bodyBytes: Int64?, hasAnswer: Bool) -> OriginError {
        switch code {
        case CURLE_URL_MALFORMAT:
            return .unsupportedURL(text)
        case CURLE_OPERATION_TIMEDOUT:
            return .timeout(text)
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT, CURLE_PROXY, CURLE_INTERFACE_FAILED:
            return .unreachable(text)
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM,
            CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED,
            CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_CLIENTCERT, CURLE_SSL_SHUTDOWN_FAILED, CURLE_USE_SSL_FAILED:
            return .tls(text)
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING, CURLE_FILESIZE_EXCEEDED:
            // The schemes were checked before, so "unsupported protocol" is about the answer:
            // HTTP/0.9, or no HTTP at all.
            return .malformed(text)
        case CURLE_OUT_OF_MEMORY where bodyBytes == nil && hasAnswer:
            // This libcurl returns this code for a header line or block beyond its own bounds.
            return .malformed("the response head is too large: \(text)")
        case CURLE_BAD_FUNCTION_ARGUMENT where bodyBytes == nil && hasAnswer:
            // libcurl before 8.1.1 returns this code for a folded line that follows no field.
            return .malformed("the response head begins with a folded line")
        default:
            // The connection broke, in one of many ways.
            if let bodyBytes { return .truncated(afterBytes: bodyBytes) }
            return hasAnswer ? .truncated(afterBytes: 0) : .unreachable(text)
        }
    }
}
#endif
