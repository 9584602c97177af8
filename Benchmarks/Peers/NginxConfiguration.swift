import SpoolLibc

/// The role of an nginx of the harness.
enum NginxRole {
    /// Serves files with `sendfile`.
    case files(root: String)
    /// The same, with a log of the body bytes of each response. See `Nginx.takeSentBytes`.
    case countedFiles(root: String)
    /// Serves files by HTTP/2 over TLS.
    case secureFiles(root: String, CertificateAuthority)
    /// Caches whole resources of an origin, which is asked at a host.
    case wholeCache(origin: UInt16, host: String = "127.0.0.1")
    /// Caches an origin in slices of 1 MiB. One request at a time fetches each.
    case sliceCache(origin: UInt16, host: String = "127.0.0.1")
}

extension NginxRole {
    /// The whole configuration file.
    ///
    /// - As many workers as the other programs have loops.
    /// - `tcp_nopush off`: with Debian's setting `on`, nginx delays ranges near the loopback
    ///   segment size by 40 ms, which would distort a comparison of caches.
    /// - No access log, except for counting bytes, and open files kept: the tuning that an
    ///   administrator would choose.
    func configuration(directory: String, ports: [String], workers: Int = 1) -> String {
        """
        \(getuid() == 0 ? "user root;" : "")
        worker_processes \(workers);
        daemon off;
        pid \(directory)/pid;
        error_log \(directory)/error.log;
        events { worker_connections 4096; }
        http {
        \(logging(directory))
            sendfile on;
            tcp_nopush off;
            tcp_nodelay on;
            keepalive_timeout 600s;
            keepalive_requests 100000000;
            open_file_cache max=1000 inactive=600s;
            open_file_cache_valid 600s;
            types { }
            default_type application/octet-stream;
            client_body_temp_path \(directory)/body;
            proxy_temp_path \(directory)/proxy;
            fastcgi_temp_path \(directory)/fastcgi;
            uwsgi_temp_path \(directory)/uwsgi;
            scgi_temp_path \(directory)/scgi;
        \(upstream(directory))
            server {
        \(ports.map { "        listen \($0)\(listenOptions);" }.joined(separator: "\n"))
        \(certificate)
        \(location)
            }
        }

        """
    }

    private func logging(_ directory: String) -> String {
        guard case .countedFiles = self else { return "    access_log off;" }
        return "    log_format sent '$body_bytes_sent';\n    access_log \(Nginx.sentLog(in: directory)) sent;"
    }

    private var listenOptions: String {
        if case .secureFiles = self { " ssl http2" } else { "" }
    }

    private var certificate: String {
        guard case .secureFiles(_, let authority) = self else { return "" }
        return "        ssl_certificate \(authority.certificate); ssl_certificate_key \(authority.key); http2_max_concurrent_streams 256;"
    }

    private func upstream(_ directory: String) -> String {
        switch self {
        case .files, .countedFiles, .secureFiles: return ""
        case .wholeCache(let origin, let host), .sliceCache(let origin, let host):
            return """
                    proxy_cache_path \(directory)/cache levels=1:2 keys_zone=media:16m max_size=100g inactive=24h use_temp_path=off;
                    upstream origin {
                        server \(host):\(origin);
                        keepalive 64;
                        keepalive_requests 100000000;
                    }
                """
        }
    }

    private var location: String {
        switch self {
        case .files(let root), .countedFiles(let root), .secureFiles(let root, _):
            // rclone finds a file in the list of its directory.
            return "        root \(root); autoindex on;"
        case .wholeCache:
            return cacheLocation(key: "$request_uri", more: "proxy_cache_valid 200 24h;")
        case .sliceCache:
            return cacheLocation(
                key: "$request_uri$slice_range",
                more: "slice 1m; proxy_set_header Range $slice_range; proxy_cache_valid 200 206 24h;")
        }
    }

    private func cacheLocation(key: String, more: String) -> String {
        """
                location / {
                    proxy_pass http://origin;
                    proxy_http_version 1.1;
                    proxy_set_header Connection "";
                    proxy_cache media;
                    proxy_cache_key \(key);
                    proxy_cache_lock on;
                    \(more)
                }
        """
    }
}
