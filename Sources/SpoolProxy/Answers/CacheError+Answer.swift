import SpoolCore
import SpoolServer

extension CacheError {
    /// The status with which the proxy reports the error.
    package var statusForClient: Int {
        switch code {
        // An unrequested success, redirect or 304 cannot be forwarded, because it would describe
        // the proxy's own response.
        case .originStatus: status.map { (400...599).contains($0) ? $0 : 502 } ?? 502
        case .originTimeout, .notStored, .networkRefused: 504
        case .unsupportedURL: 400
        case .exists: 409
        case .closed, .removed: 503
        case .originUnreachable where isRefusal: 403
        case .store, .storeLocked, .configuration: 500
        default: 502
        }
    }

    /// Whether the proxy itself refuses to ask for the resource.
    var isRefusal: Bool { if case .notAsked? = cause as? OriginError { true } else { false } }

    /// The fields of the proxy's answer: the origin's fields with advice for the client, such as a
    /// time to retry or a demand for credentials, and those that name the error.
    var fields: HTTPFields {
        var fields: HTTPFields = if case .status(_, let advice)? = cause as? OriginError { advice } else { [:] }
        fields[.date] = nil
        fields[.cacheStatus] = CacheStatus(.forwarded(.miss), forwardStatus: status, detail: code.rawValue).fieldValue
        fields[.proxyStatus] = (cause as? OriginError).flatMap(ProxyStatus.fieldValue)
        return fields
    }

    /// The length of the resource, from an unsatisfiable range.
    var length: Int64? {
        if case .rangeNotSatisfiable(let length)? = cause as? OriginError { length } else { nil }
    }
}
