#if !os(watchOS)
import AVFoundation
import Spool
import SpoolCore
import SpoolSystem

/// The options of an asset in the form for Spool's own requests.
///
/// AVFoundation applies options to the requests that it makes itself. For a cached asset, Spool
/// makes the requests.
struct AssetOptions: Sendable {
    /// The options for `AVURLAsset`, without Spool's own.
    let forAsset: [String: any Sendable]
    /// The networks that the app chose for this asset, or nil.
    let access: NetworkAccess?
    /// The fields of the app, without cookies from the options.
    private let ownFields: [HTTPFields.Field]
    private let cookies: [HTTPCookie]?
    private let now: Timestamp
    /// The fields for requests of the asset's URL.
    let fields: [HTTPFields.Field]
    let typeHint: String?
    let fileExtensionHint: String?
    let renewalDate: Date?
    /// Whether the app gave the cookies, or a `Cookie` field.
    let hasCookies: Bool

    init(_ options: [String: any Sendable]?, headers: [String: String], url: URL, now: Timestamp) {
        let options = options ?? [:]
        forAsset = options.filter { !CachingAVURLAsset.optionKeys.contains($0.key) }
        access = Self.access(options)
        typeHint = options[CachingAVURLAsset.contentTypeKey] as? String ?? Self.overridingType(options)
        fileExtensionHint = (options[CachingAVURLAsset.fileExtensionKey] as? String).map { String($0.drop { $0 == "." }).lowercased() }
        renewalDate = options[CachingAVURLAsset.expiryDateKey] as? Date
        var fields: [HTTPFields.Field] = []
        if let agent = options[AVURLAssetHTTPUserAgentKey] as? String { fields.append(.init(.userAgent, agent)) }
        // A header that the app gives replaces one that follows from the options.
        fields.removeAll { field in headers.keys.contains { $0.equalsIgnoringCase(field.name) } }
        let givesCookies = headers.keys.contains { HTTPFields.Name($0) == .cookie }
        hasCookies = options[AVURLAssetHTTPCookiesKey] != nil || givesCookies
        ownFields = fields + headers.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: $0.value) }
        cookies = givesCookies ? nil : options[AVURLAssetHTTPCookiesKey] as? [HTTPCookie]
        self.now = now
        self.fields = Self.fields(ownFields, cookies, for: url, now: now)
    }

    /// The fields for requests of another URL, such as a segment's. The app's fields are sent with
    /// each of them, and a cookie where it applies.
    func fields(for url: URL) -> [HTTPFields.Field] { Self.fields(ownFields, cookies, for: url, now: now) }

    private static func fields(
        _ own: [HTTPFields.Field], _ cookies: [HTTPCookie]?, for url: URL, now: Timestamp
    ) -> [HTTPFields.Field] {
        guard let cookies else { return own }
        let matching = cookies.filter { $0.applies(to: url, now: Date(timeIntervalSince1970: Double(now.seconds))) }
        return own + HTTPCookie.requestHeaderFields(with: matching).map { .init(name: $0.key, value: $0.value) }
    }

    private static func access(_ options: [String: any Sendable]) -> NetworkAccess? {
        let keys = [
            AVURLAssetAllowsCellularAccessKey, AVURLAssetAllowsExpensiveNetworkAccessKey, AVURLAssetAllowsConstrainedNetworkAccessKey,
        ]
        let values = keys.map { options[$0] as? Bool }
        guard values.contains(where: { $0 != nil }) else { return nil }
        return NetworkAccess(
            allowsCellular: values[0] ?? true, allowsExpensive: values[1] ?? true, allowsConstrained: values[2] ?? true)
    }

    private static func overridingType(_ options: [String: any Sendable]) -> String? {
        guard #available(iOS 17, macOS 14, tvOS 17, visionOS 1, *) else { return nil }
        return options[AVURLAssetOverrideMIMETypeKey] as? String
    }
}

extension CachingAssetFactory {
    /// Parses the options of an asset.
    func parse(_ options: [String: any Sendable]?, headers: [String: String] = [:], for url: URL) -> AssetOptions {
        AssetOptions(options, headers: headers, url: url, now: cache.environment.time.wallNow)
    }

    /// Returns the options of an asset's reads: those of the factory, with the fields for requests to
    /// `url` and the networks of the asset.
    func readOptions(for url: URL, _ parsed: AssetOptions) -> ReadOptions {
        var options = readOptions
        options.requestFields = readOptions.requestFields.replacing(with: HTTPFields(parsed.fields(for: url)))
        options.access = parsed.access ?? readOptions.access
        return options
    }

    /// Returns the options of an asset whose player loads the original by itself, now or after a
    /// redirect. It keeps away from the networks that Spool's own requests may not use.
    func networkOptions(_ parsed: AssetOptions) -> [String: any Sendable] {
        let access = readOptions.access ?? cache.networkPolicy.playback
        guard parsed.access == nil, access != NetworkAccess() else { return parsed.forAsset }
        return parsed.forAsset.merging([
            AVURLAssetAllowsCellularAccessKey: access.allowsCellular, AVURLAssetAllowsExpensiveNetworkAccessKey: access.allowsExpensive,
            AVURLAssetAllowsConstrainedNetworkAccessKey: access.allowsConstrained,
        ]) { own, _ in own }
    }

    /// Returns the options of a plain asset of the original, which has the cookies of the factory.
    func originalOptions(for url: URL, _ parsed: AssetOptions) -> [String: any Sendable] {
        var options = networkOptions(parsed)
        let cookies = cookies(for: url, parsed)
        if !cookies.isEmpty { options[AVURLAssetHTTPCookiesKey] = cookies }
        return options
    }

    /// Returns the factory's cookies for a URL, unless the options of the asset have some.
    func cookies(for url: URL, _ parsed: AssetOptions) -> [HTTPCookie] { parsed.hasCookies ? [] : cookies?(url) ?? [] }
}

extension HTTPCookie {
    /// Whether a request to `url` carries the cookie (RFC 6265 §5.4).
    func applies(to url: URL, now: Date) -> Bool {
        guard let host = url.host?.lowercased() else { return false }
        let domain = domain.lowercased()
        let bare = domain.hasPrefix(".") ? String(domain.dropFirst()) : domain
        guard host == bare || (domain.hasPrefix(".") && host.hasSuffix(domain)) else { return false }
        let path = path.isEmpty ? "/" : path
        let asked = url.path.isEmpty ? "/" : url.path
        guard asked == path || (asked.hasPrefix(path) && (path.hasSuffix("/") || asked.dropFirst(path.count).first == "/")) else {
            return false
        }
        if isSecure, url.scheme?.lowercased() != "https" { return false }
        return expiresDate.map { $0 > now } != false
    }
}
#endif
