/// The reason why this proxy has no response of the origin, for the field `Proxy-Status` (RFC
/// 9209). Client programs read it there.
package enum ProxyStatus {
    /// The field value that describes an error.
    /// - Returns: nil for an error that the status of the response describes already.
    package static func fieldValue(of error: OriginError) -> String? {
        guard let (type, details) = words(of: error) else { return nil }
        return "spool; error=\(type); details=\(CacheStatus.quoted(details))"
    }

    /// The error that the last proxy of the field describes.
    /// - Returns: nil if that proxy is not Spool.
    package static func error(in fields: HTTPFields) -> OriginError? {
        guard let value = fields.values(of: .proxyStatus).last, value.hasPrefix("spool; error=") else { return nil }
        let rest = value.dropFirst("spool; error=".count)
        let type = rest.prefix { $0 != ";" }
        guard let start = rest.firstRange(of: "; details=\"") else { return nil }
        let details = unquoted(rest[start.upperBound...])
        switch type {
        case "destination_unavailable", "destination_ip_prohibited": return .unreachable(details)
        case "http_response_timeout": return .timeout(details)
        case "tls_protocol_error": return .tls(details)
        case "http_protocol_error": return .malformed(details)
        case "proxy_configuration_error": return .redirect(details)
        default: return nil
        }
    }

    /// The registered type of an error (RFC 9209 §2.3) and its details.
    private static func words(of error: OriginError) -> (type: String, details: String)? {
        switch error {
        case .unreachable(let why): ("destination_unavailable", why)
        case .timeout(let why): ("http_response_timeout", why)
        case .tls(let why): ("tls_protocol_error", why)
        case .malformed(let why): ("http_protocol_error", why)
        case .redirect(let why): ("proxy_configuration_error", why)
        case .notAsked(_, let why): ("destination_ip_prohibited", why)
        case .networkRefused: ("destination_unavailable", "\(error)")
        case .truncated, .representationChanged: ("http_protocol_error", "\(error)")
        case .status, .rangeNotSatisfiable, .unsupportedURL: nil
        }
    }

    /// The text up to the closing quote of a structured string (RFC 8941 §3.3.3).
    private static func unquoted(_ text: Substring) -> String {
        var result = ""
        var isEscaped = false
        for character in text {
            if !isEscaped, character == "\"" { break }
            if !isEscaped, character == "\\" {
                isEscaped = true
                continue
            }
            isEscaped = false
            result.append(character)
        }
        return result
    }
}
