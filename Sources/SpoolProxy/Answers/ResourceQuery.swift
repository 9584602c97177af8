import Spool
import SpoolCore
import SpoolServer

/// The request of a client for a resource: the resource, the client, and the bytes.
struct ResourceQuery {
    let url: MediaURL
    /// Nil for a URL that no stored bytes can have.
    let key: ResourceKey?
    /// When stored bytes are used without asking the origin, or nil for the cache's policy.
    let policy: CachePolicy?
    /// The client's own request for the origin, or nil for a URL that cannot be asked.
    let client: ClientRequest?
    /// The requesting page's web site, in the form for the origin, or nil for none.
    let page: String?
    /// The settings of the player, or nil for none.
    let visit: VisitSettings?
    let isHead: Bool
    let range: RangeHeader?
    private let request: RequestHead
    private let requester: [UInt8]?

    /// Creates the query of the request of `exchange`.
    init(
        _ exchange: Exchange, of url: MediaURL, key: ResourceKey?, policy: CachePolicy?, client: ClientRequest?, page: String?,
        visit: VisitSettings?
    ) {
        self.url = url
        self.key = key
        self.policy = policy
        self.client = client
        self.page = page
        self.visit = visit
        request = exchange.request
        requester = exchange.client
        isHead = request.method == "HEAD"
        // Range is defined for GET only (RFC 9110 §14.2).
        range = isHead ? nil : request[.range].flatMap(RangeHeader.init)
    }

    /// Whether the client resolves the references of manifests by itself.
    var isForProgram: Bool { visit?.rewritesManifests == false }

    /// The number of last bytes that are asked for without knowing the length, or nil for any other
    /// request.
    private var suffix: Int64? {
        guard case .suffix(let count)? = range?.specs.first, range?.specs.count == 1, count > 0, !request.has(.ifRange) else { return nil }
        return min(count, ByteRange.maximumOffset)
    }

    /// Returns the options of the reader.
    ///
    /// - Parameter isSite: Whether the proxy stands in for the site of the resource.
    func options(isSite: Bool) -> ReadOptions {
        var options = ReadOptions(cachePolicy: policy)
        options.site = page
        options.requester = requester
        if let visit { (options.requestFields, options.access) = (visit.requestFields(url.text), visit.access) }
        options.priority = RequestUrgency.priority(request.fields["Priority"])
        options.endsSoon = true
        options.takesAnyStatus = true
        options.asksWhole = range == nil
        options.suffix = suffix
        options.followsRedirects =
            !isSite
            || BrowserDestination(request[.secFetchDest]) == .other
                && (range != nil || MediaKind.isMediaExtension(pathExtension(url: url.text)))
        if request.has(.cacheControl) {
            options.request = CacheControl(request.fields)
        } else if let pragma = request[.pragma], CacheControl(pragma).noCache != nil {
            // HTTP/1.0 clients send `Pragma` (RFC 9111 §5.4).
            options.request = CacheControl("no-cache")
        }
        if options.request.onlyIfCached { options.mode = .onlyStored } else if options.request.noStore { options.mode = .doNotStore }
        return options
    }

    /// The range of the first origin request for a resource that is not known yet.
    var wish: (start: Int64, end: Int64?, wantsBytes: Bool) {
        if isHead || request.has(.ifNoneMatch) || request.has(.ifModifiedSince) { return (0, nil, false) }
        switch range?.specs.first {
        // The response contains the length of such a resource, if it has one, or reports that it
        // does not exist.
        case let spec? where spec.first ?? 0 >= ByteRange.maximumOffset: return (0, nil, false)
        case .bounded(let first, let last): return (first, last >= ByteRange.maximumOffset ? nil : last + 1, true)
        case .from(let first): return (first, nil, true)
        case .suffix where suffix != nil: return (0, nil, true)
        // The length must be known before the end of the resource is.
        case .suffix: return (0, nil, false)
        case nil: return (0, nil, true)
        }
    }

    /// The bytes of the client's range that the origin's response has, where no other response may
    /// continue it, and it states no complete length.
    ///
    /// - Parameter served: The part of the resource that the response has, or nil for the whole.
    func part(of served: ByteRange?) -> ByteRange? {
        guard let served, case .ranges(let ranges)? = range?.resolve(length: served.upperBound), ranges.count == 1 else { return nil }
        return served.contains(ranges[0].lowerBound) ? ranges[0] : nil
    }

    /// Whether the client is sent to a URL that the proxy does not ask. A stranger could have made
    /// the proxied URL of a public name that leads to a private address; then it is refused.
    ///
    /// - Parameter isOfOthers: Whether the client, or other users of the cache, may be strangers.
    func mayAskItself(for target: String, isOfOthers: Bool) -> Bool {
        target.withoutUserinfo != url.withoutUserinfo || !isOfOthers
    }
}
