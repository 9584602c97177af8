#if os(Linux)
internal import Glibc
internal import SpoolCore

/// What the environment says of proxies, as libcurl reads it.
enum EnvironmentProxy {
    /// Whether a proxy is named for the scheme of `url`. Exceptions (`no_proxy`) are not looked at.
    static func isSet(for url: String) -> Bool {
        // "HTTP_PROXY" is left out on purpose, there as here: a CGI program gets it from the request's `Proxy` field.
        let names = url.prefix(8).equalsIgnoringCase("https://") ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
        return (names + ["all_proxy", "ALL_PROXY"]).contains { getenv($0).map { $0.pointee != 0 } ?? false }
    }
}
#endif
