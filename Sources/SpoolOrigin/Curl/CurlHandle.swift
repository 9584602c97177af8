#if os(Linux)
internal import CCurl
internal import SpoolCore
internal import SpoolLibc
internal import SpoolSystem

/// The easy handle of one transfer, with the objects that have to live as long: the error text and
/// the list of header lines.
///
/// No handle serves a second transfer. libcurl 7.83 to 8.1.0 keeps a pointer to the last field of a
/// response when it frees that response. The next transfer of the handle writes to the freed memory
/// if its head begins with a folded line (curl/curl pull request 11103). Connections and looked-up
/// names belong to the multi handle, so each handle uses those of the others.
///
/// Used on the thread of the loop only.
final class CurlHandle {
    let raw: UnsafeMutableRawPointer
    private let errorText: UnsafeMutablePointer<CChar>
    private var headerLines: UnsafeMutablePointer<curl_slist>?
    /// The status lines of radio servers, which are older than HTTP's. It is never changed or freed.
    private nonisolated(unsafe) static let aliases = curl_slist_append(nil, "ICY 200 OK")

    /// Creates a handle that resumes the TLS sessions of `tlsSessions`, or returns nil if libcurl has
    /// no memory.
    init?(tlsSessions: UnsafeMutableRawPointer?) {
        guard let raw = curl_easy_init() else { return nil }
        if let tlsSessions { _ = spool_curl_set_pointer(raw, CURLOPT_SHARE, tlsSessions) }
        self.raw = raw
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        curl_easy_cleanup(raw)
        curl_slist_free_all(headerLines)
        errorText.deallocate()
    }

    /// Returns the message of libcurl for the last error, or its general text for `code`.
    func message(for code: CURLcode) -> String {
        errorText[0] == 0 ? String(cString: curl_easy_strerror(code)) : String(cString: errorText)
    }

    /// Sets the handle up for the request of `transfer`.
    ///
    /// - Parameters:
    ///   - isAlone: Whether no other transfer runs.
    ///   - opensConnection: Whether the request uses no kept connection.
    /// - Throws: The reason why libcurl refused an option.
    func configure(
        _ transfer: CurlTransfer, _ options: CurlTransportOptions, isAlone: Bool, opensConnection: Bool
    ) throws(OriginError) {
        do {
            try set(CURLOPT_ERRORBUFFER, pointer: errorText)
            try setCallbacks(Unmanaged.passUnretained(transfer).toOpaque(), loop: transfer.loopContext)
            try setConnection(options, of: transfer.request)
            try setCoding(transfer.request)
            if transfer.request.answersDigest { try check(spool_curl_set_digest(raw)) }
            let plainBytes = isAlone ? options.loneReceiveBufferBytes : options.receiveBufferBytes
            try set(CURLOPT_BUFFERSIZE, transfer.request.decodesContent ? CurlTransportOptions.codedReceiveBufferBytes : plainBytes)
            try setSecurity(options)
            if opensConnection { try set(CURLOPT_FRESH_CONNECT, 1) }
            try setMethod(transfer)
            try set(CURLOPT_URL, transfer.request.url)
            try set(CURLOPT_USERAGENT, options.userAgent)
            if let signature = transfer.request.signature {
                try sign(by: signature)
                try setSignedFields(transfer.request.fields, signature)
            } else {
                try setFields(transfer.request.fields)
            }
            // This decision is passed to libcurl. The check of addresses must not depend on how
            // libcurl and this code each read an exception.
            if options.usesEnvironmentProxies, let url = transfer.request.location, !Loopback.isHost(url.origin.host),
                EnvironmentProxy.isUsed(for: url)
            {
                try set(CURLOPT_NOPROXY, "")
            } else {
                try set(CURLOPT_PROXY, "")
                transfer.privateNames = options.privateNames
            }
        } catch {
            switch error.code {
            case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: throw .unsupportedURL(message(for: error.code))
            default: throw .malformed("libcurl refused the request: \(message(for: error.code))")
            }
        }
    }

    /// The socket of the transfer's connection, or nil if it has none or the connection was closed.
    var socket: Int32? {
        var socket: curl_socket_t = -1
        guard spool_curl_get_socket(raw, &socket) == CURLE_OK, socket >= 0 else { return nil }
        return socket
    }

    /// Lets no other transfer have the connection after this one.
    func forbidReuse() { _ = spool_curl_set_long(raw, CURLOPT_FORBID_REUSE, 1) }

    // MARK: Measurements

    /// Returns what libcurl measured of the transfer so far.
    func timings(receivedBytes: Int64) -> TransferTimings {
        var timings = TransferTimings(total: time(CURLINFO_TOTAL_TIME_T) ?? .zero, receivedBytes: receivedBytes)
        timings.firstByte = time(CURLINFO_STARTTRANSFER_TIME_T)
        timings.protocolName = protocolName
        // Zero new connections are a reused one only if the request was sent at all.
        guard let sent = time(CURLINFO_PRETRANSFER_TIME_T), let connections = number(CURLINFO_NUM_CONNECTS) else { return timings }
        timings.reusesConnection = connections == 0
        if connections > 0 { timings.connect = time(CURLINFO_APPCONNECT_TIME_T) ?? time(CURLINFO_CONNECT_TIME_T) ?? sent }
        return timings
    }

    /// Returns a time from the start of the transfer, or nil if the transfer did not get there.
    private func time(_ info: CURLINFO) -> Duration? {
        var microseconds: curl_off_t = 0
        guard spool_curl_get_size(raw, info, &microseconds) == CURLE_OK, microseconds > 0 else { return nil }
        return .microseconds(Int64(microseconds))
    }

    private func number(_ info: CURLINFO) -> Int? {
        var value = 0
        return spool_curl_get_long(raw, info, &value) == CURLE_OK ? value : nil
    }

    private var protocolName: String? {
        switch number(CURLINFO_HTTP_VERSION) {
        case Int(CURL_HTTP_VERSION_1_0): "http/1.0"
        case Int(CURL_HTTP_VERSION_1_1): "http/1.1"
        case Int(CURL_HTTP_VERSION_2_0): "h2"
        case Int(CURL_HTTP_VERSION_3): "h3"
        default: nil
        }
    }

    /// Ends the kept connection of a complete transfer if the origin sent more bytes on it than its
    /// response has.
    ///
    /// Such bytes belong to no response (RFC 9112 §6.3), but libcurl would take them for the answer
    /// to the next request. For HTTP/1.1 only: with later versions an origin may send at any time.
    func endConnectionWithExcess() {
        guard let socket else { return }
        var byte: UInt8 = 0
        guard recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) > 0 else { return }
        // libcurl closes the descriptor when it finds the connection dead.
        _ = shutdown(socket, Int32(SHUT_RDWR))
    }

    // MARK: Options

    private func setCallbacks(_ context: UnsafeMutableRawPointer, loop: UnsafeMutableRawPointer) throws(Refusal) {
        try check(spool_curl_set_callback(raw, CURLOPT_WRITEFUNCTION, curlBodyCallback))
        try set(CURLOPT_WRITEDATA, pointer: context)
        try check(spool_curl_set_callback(raw, CURLOPT_HEADERFUNCTION, curlHeaderCallback))
        try set(CURLOPT_HEADERDATA, pointer: context)
        try check(spool_curl_set_request_callback(raw, curlRequestCallback))
        try set(CURLOPT_PREREQDATA, pointer: context)
        try check(spool_curl_set_open_socket(raw, curlOpenSocketCallback))
        try set(CURLOPT_OPENSOCKETDATA, pointer: context)
        // A connection may outlive the transfer.
        try check(spool_curl_set_close_socket(raw, curlCloseSocketCallback))
        try set(CURLOPT_CLOSESOCKETDATA, pointer: loop)
    }

    private func setConnection(_ options: CurlTransportOptions, of request: OriginRequest) throws(Refusal) {
        try set(CURLOPT_NOSIGNAL, 1)
        try set(CURLOPT_HTTPGET, 1)
        try set(CURLOPT_FOLLOWLOCATION, 0)
        try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        // "Tell libcurl to not handle sequences of /../ or /./ in the given URL": only the origin
        // interprets its paths.
        try set(CURLOPT_PATH_AS_IS, 1)
        try set(CURLOPT_TCP_NODELAY, 1)
        try set(CURLOPT_TCP_KEEPALIVE, 1)
        try set(CURLOPT_TCP_KEEPIDLE, Int(CurlTransportOptions.probeInterval / .seconds(1)))
        try set(CURLOPT_TCP_KEEPINTVL, Int(CurlTransportOptions.probeInterval / .seconds(1)))
        try set(CURLOPT_CONNECTTIMEOUT_MS, max(1, Int((request.connectTimeout ?? options.connectTimeout) / .milliseconds(1))))
        try check(spool_curl_set_list(raw, CURLOPT_HTTP200ALIASES, Self.aliases))
        try check(spool_curl_set_web_only(raw))
        try check(spool_curl_set_quick_exit(raw))
        switch options.version {
        case .http1:
            try set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        case .http2:
            try set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
            try set(CURLOPT_PIPEWAIT, 1)
        }
    }

    /// Selects whether libcurl removes a content coding. It does so only when it may ask for one.
    /// The request's own `Accept-Encoding` takes the place of the list.
    private func setCoding(_ request: OriginRequest) throws(Refusal) {
        try set(CURLOPT_HTTP_CONTENT_DECODING, request.decodesContent ? 1 : 0)
        if request.decodesContent { try set(CURLOPT_ACCEPT_ENCODING, "") }
    }

    /// Decodes the body of the running transfer, or leaves it as it comes. Called at its head.
    func decode(_ decodes: Bool) { _ = spool_curl_set_long(raw, CURLOPT_HTTP_CONTENT_DECODING, decodes ? 1 : 0) }

    private func setSecurity(_ options: CurlTransportOptions) throws(Refusal) {
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        try set(CURLOPT_SSL_VERIFYHOST, 2)
        if let file = options.certificateFile { try set(CURLOPT_CAINFO, file) }
    }

    private func setMethod(_ transfer: CurlTransfer) throws(Refusal) {
        switch transfer.request.method {
        case "GET" where transfer.request.body == nil: return
        case "HEAD": return try set(CURLOPT_NOBODY, 1)
        default: break
        }
        try set(CURLOPT_CUSTOMREQUEST, transfer.request.method)
        try set(CURLOPT_FRESH_CONNECT, 1)
        guard let body = transfer.request.body else { return }
        try set(CURLOPT_UPLOAD, 1)
        try check(spool_curl_set_size(raw, CURLOPT_INFILESIZE_LARGE, curl_off_t(body.count)))
        try check(spool_curl_set_read(raw, curlUploadCallback))
        try set(CURLOPT_READDATA, pointer: Unmanaged.passUnretained(transfer).toOpaque())
    }

    /// Sets the fields of the request, and those that the transport adds.
    private func setFields(_ fields: HTTPFields) throws(Refusal) {
        // A GET has no body to wait for, so `Expect` is never sent. `Accept` is sent only if the
        // request has it.
        try appendLine("Expect:")
        if fields[.accept] == nil { try appendLine("Accept:") }
        if fields[.acceptEncoding] == nil { try appendLine("Accept-Encoding: identity") }
        for field in fields.lines where !field.isNamed(.expect) {
            // "If you want to add a header with no contents, use a semicolon": "Name:" would remove
            // libcurl's own field.
            let value = String(field.value.drop { $0 == " " || $0 == "\t" })
            try appendLine(value.isEmpty ? "\(field.name);" : "\(field.name): \(value)")
        }
        try check(spool_curl_set_list(raw, CURLOPT_HTTPHEADER, headerLines))
    }

    /// Makes libcurl sign the request (AWS Signature Version 4).
    private func sign(by signature: RequestSignature) throws(Refusal) {
        try check(spool_curl_set_signature(raw, signature.scheme))
        // Not as one option: the name of a key may have a colon.
        try set(CURLOPT_USERNAME, signature.accessKey)
        try set(CURLOPT_PASSWORD, signature.secretKey)
    }

    /// Sets the fields of a signed request. libcurl signs every line of the list, so the list has no
    /// line that removes a field: that field would be signed and not sent.
    private func setSignedFields(_ fields: HTTPFields, _ signature: RequestSignature) throws(Refusal) {
        for field in fields.lines { try appendLine("\(field.name): \(field.value)") }
        for field in signature.fields { try appendLine("\(field.name): \(field.value)") }
        try check(spool_curl_set_list(raw, CURLOPT_HTTPHEADER, headerLines))
    }

    private func appendLine(_ line: String) throws(Refusal) {
        let bytes = line.fieldBytes.map(CChar.init(bitPattern:)) + [0]
        guard let longer = curl_slist_append(headerLines, bytes) else { throw Refusal(code: CURLE_OUT_OF_MEMORY) }
        headerLines = longer
    }

    // MARK: Typed setters

    private struct Refusal: Error {
        var code: CURLcode
    }

    private func check(_ code: CURLcode) throws(Refusal) {
        if code != CURLE_OK { throw Refusal(code: code) }
    }

    private func set(_ option: CURLoption, _ value: Int) throws(Refusal) {
        try check(spool_curl_set_long(raw, option, value))
    }

    private func set(_ option: CURLoption, _ value: String) throws(Refusal) {
        try check(spool_curl_set_string(raw, option, value))
    }

    private func set(_ option: CURLoption, pointer: UnsafeMutableRawPointer) throws(Refusal) {
        try check(spool_curl_set_pointer(raw, option, pointer))
    }
}
#endif
