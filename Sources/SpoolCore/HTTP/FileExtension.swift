/// The extension of the file that stores a resource's bytes: without a dot, at most eight
/// lower-case letters and digits, possibly empty.
///
/// A media extension in the URL's path is used first, then the extension for the media type, then
/// any other extension in the path. A resource at `watch.php` with type `video/mp4` thus gets
/// `mp4`.
/// - Parameters:
///   - url: the URL as it was requested. A URL that can't be parsed counts as one without
///     extension.
///   - contentType: the value of `Content-Type`, or nil.
package func fileExtension(url: String, contentType: String?) -> String {
    let ofPath = pathExtension(of: url)
    if let ofPath, MediaKind.isMediaExtension(ofPath) { return ofPath }
    let ofType = contentType.flatMap(MediaType.init).flatMap { MediaKind.fileExtension(ofMediaType: $0.essence) }
    return ofType ?? ofPath ?? ""
}

/// The extension in the path of a URL, in lower case; empty if there is no plain one.
package func pathExtension(url: String) -> String { pathExtension(of: url) ?? "" }

extension Representation {
    /// Whether the media type is that of a playlist or manifest (HLS, DASH).
    package var isPlaylist: Bool {
        guard let type = contentType.flatMap(MediaType.init) else { return false }
        return MediaKind.fileExtension(ofMediaType: type.essence).map(playlistExtensions.contains) == true
    }
}

/// The extensions of playlists and manifests, which may change during playback.
package let playlistExtensions: Set<String> = ["m3u8", "mpd"]

/// The types that servers send for manifests, and for other content: JSON, XML, text, bytes, none.
package let vagueMediaTypes: Set<String> = [
    "", "application/json", "application/octet-stream", "application/xml", "binary/octet-stream", "text/json", "text/plain", "text/xml",
]

/// The longest extension that is used, in bytes.
private let maxExtensionBytes = 8

/// The text after the last dot in the last segment of the path, in lower case.
///
/// Only locates the path and rejects control characters. The caller that requests the URL finds out
/// whether it is valid otherwise.
/// - Returns: nil if that text is not a plain extension.
private func pathExtension(of url: String) -> String? {
    url.utf8.withContiguousStorageIfAvailable(pathExtension(of:)) ?? Array(url.utf8).withUnsafeBufferPointer(pathExtension(of:))
}

private func pathExtension(of url: UnsafeBufferPointer<UInt8>) -> String? {
    guard !url.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return nil }
    var path = url[...]
    let delimiter = path.firstIndex { $0 == .colon || $0 == .slash || $0 == .question || $0 == .hash }
    if let delimiter, url[delimiter] == .colon { path = path[(delimiter + 1)...] }
    if path.starts(with: [.slash, .slash]) {
        path = path[path.index(path.startIndex, offsetBy: 2)...].drop { $0 != .slash && $0 != .question && $0 != .hash }
    }
    let end = path.firstIndex { $0 == .question || $0 == .hash } ?? path.endIndex
    let bytes = path[..<end]
    let segment = bytes.lastIndex(of: .slash).map { bytes[($0 + 1)...] } ?? bytes
    guard let dot = segment.lastIndex(of: .dot), dot != segment.startIndex else { return nil }
    let found = segment[(dot + 1)...]
    guard !found.isEmpty, found.count <= maxExtensionBytes, found.allSatisfy({ $0.isLetter || $0.isDigit }) else { return nil }
    return String(decoding: found, as: UTF8.self).asciiLowercased
}
