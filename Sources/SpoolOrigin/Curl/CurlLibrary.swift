#if os(Linux)
internal import CCurl

/// The libcurl that this process has loaded.
package enum CurlLibrary {
    /// Its name and version, for example `libcurl 7.88.1`.
    package static var version: String {
        guard let info = curl_version_info(CURLVERSION_SEVENTH), let text = info.pointee.version else { return "libcurl" }
        return "libcurl " + String(cString: text)
    }

    /// Whether requests can be signed for an S3-compatible store. Earlier versions sign other fields,
    /// or a wrong hash of the body.
    package static var canSign: Bool {
        guard let info = curl_version_info(CURLVERSION_SEVENTH) else { return false }
        return info.pointee.version_num >= 0x075800
    }

    /// The file of certificates by which HTTPS origins are verified, if it was built with one.
    package static var certificateFile: String? {
        guard let info = curl_version_info(CURLVERSION_SEVENTH), let path = info.pointee.cainfo else { return nil }
        return String(cString: path)
    }
}
#endif
