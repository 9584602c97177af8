import SpoolCore

/// The origins that fail. A log has one line when an origin begins to fail, and one when it answers
/// again, however many requests fail in between.
struct OriginOutages {
    /// The most failing origins that are known. Beyond them all are forgotten, so that a line may
    /// come twice.
    private static let capacity = 256

    private var failing = Set<String>()

    /// Notes the end of a fetch.
    ///
    /// - Parameters:
    ///   - origin: The scheme and authority of the origin.
    ///   - fetchedBytes: The bytes that arrived. A fetch that its readers left may have none, and
    ///     shows nothing.
    /// - Returns: The line for the log, or nil if the origin is as it was.
    mutating func fetchEnded(at origin: String, fetchedBytes: Int64, _ error: OriginError?) -> (level: LogLevel, text: String)? {
        switch error {
        case .unreachable, .timeout, .tls, .truncated, .malformed, .status(500..., _):
            if failing.count >= Self.capacity { failing = [] }
            guard let error, failing.insert(origin).inserted else { return nil }
            return (.warning, "\(origin) fails: \(error); its further failures are logged at debug")
        case nil where fetchedBytes == 0, .notAsked, .unsupportedURL, .networkRefused:
            return nil
        default:
            return failing.remove(origin) == nil ? nil : (.notice, "\(origin) answers again")
        }
    }
}

extension ResourceSession.SharedParts {
    /// Logs that the end of a fetch begins or ends an outage of an origin.
    func logFetchEnd(_ origin: String, _ fetchedBytes: Int64, _ error: OriginError?) {
        guard configuration.network.logsOutages, let log = configuration.log else { return }
        let line = outages.withLock { $0.fetchEnded(at: origin, fetchedBytes: fetchedBytes, error) }
        if let line, line.level >= log.level { log.log(line.level, line.text) }
    }
}
