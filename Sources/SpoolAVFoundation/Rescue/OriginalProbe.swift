#if !os(watchOS)
package import AVFoundation
import SpoolCore
import SpoolSystem

/// Asks an original for its first byte, and reports whether it was sent. May report on any thread.
package typealias OriginalProbe = @Sendable (_ request: URLRequest, _ report: @escaping @Sendable (Bool) -> Void) -> Void

/// The probe of an app: one request by `URLSession`, beside the cache.
enum SystemProbe {
    /// The longest time for an answer, in seconds. A slower origin is none that a player waits for.
    static let timeout: TimeInterval = 10

    static let ask: OriginalProbe = { request, report in
        #if canImport(Darwin)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = timeout
        configuration.timeoutIntervalForResource = timeout
        let session = URLSession(configuration: configuration, delegate: HeadWatch(report), delegateQueue: nil)
        session.dataTask(with: request).resume()
        session.finishTasksAndInvalidate()
        #else
        report(false)
        #endif
    }
}

#if canImport(Darwin)
/// Reports the status of a response, and ends the request before its body. An origin that ignores
/// the range sends no whole film.
private final class HeadWatch: NSObject, URLSessionDataDelegate, Sendable {
    private let report: Locked<(@Sendable (Bool) -> Void)?>

    init(_ report: @escaping @Sendable (Bool) -> Void) { self.report = Locked(report) }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        completionHandler(.cancel)
        end((response as? HTTPURLResponse).map { (200...299).contains($0.statusCode) } == true)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) { end(false) }

    private func end(_ isThere: Bool) {
        let report = report.withLock { $0.take() }
        report?(isThere)
    }
}
#endif

extension AssetSources {
    /// Returns the request for the first byte of the original, with the asset's own fields and
    /// cookies.
    func firstByte(at url: URL) -> URLRequest {
        let parsed = factory.parse(options, headers: headers, for: url)
        var request = URLRequest(url: url)
        request.timeoutInterval = SystemProbe.timeout
        request.httpShouldHandleCookies = false
        for field in parsed.fields { request.setValue(field.value, forHTTPHeaderField: field.name) }
        for (name, value) in HTTPCookie.requestHeaderFields(with: factory.cookies(for: url, parsed)) {
            request.setValue(value, forHTTPHeaderField: name)
        }
        request.setValue("bytes=0-0", forHTTPHeaderField: HTTPFields.Name.range.text)
        #if canImport(Darwin)
        if let access = parsed.access {
            request.allowsCellularAccess = access.allowsCellular
            request.allowsExpensiveNetworkAccess = access.allowsExpensive
            request.allowsConstrainedNetworkAccess = access.allowsConstrained
        }
        #endif
        return request
    }

    /// Returns a plain asset of the original, which replaces one of the cache.
    func original(at url: URL, key: ResourceKey?, because reason: RescueReason) -> CachingAVURLAsset {
        let parsed = factory.parse(options, headers: headers, for: url)
        return prepared(
            CachingAVURLAsset(
                url: url, options: factory.originalOptions(for: url, parsed), originalURL: self.url, key: key,
                route: .original(.rescued(reason.words)), sources: self))
    }
}
#endif
