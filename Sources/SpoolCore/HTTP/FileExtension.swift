/// The extension of the file that a resource's bytes are kept in: without a dot, lower-case letters and digits, at most eight; may be empty.
///
/// A media extension in the URL's path wins, then the one of the media type, then whatever the path has:
/// so `watch.php` that answers `video/mp4` becomes `mp4`.
/// - Parameters:
///   - url: the URL as it was asked; what can't be read counts as one without extension.
///   - contentType: the value of `Content-Type`, or nil.
package func fileExtension(url: String, contentType: String?) -> String {
    let ofPath = pathExtension(of: url)
    if let ofPath, mediaExtensions.contains(ofPath) { return ofPath }
    let ofType = contentType.flatMap(MediaType.init).flatMap { extensionOfMediaType[$0.essence] }
    return ofType ?? ofPath ?? ""
}

/// The extension of the path of a URL, in lower case; empty when it has no plain one.
package func pathExtension(url: String) -> String { pathExtension(of: url) ?? "" }

/// Whether files with this extension are media of some kind.
package func isMediaExtension(_ pathExtension: String) -> Bool { mediaExtensions.contains(pathExtension) }

extension Representation {
    /// Whether it is a playlist or manifest (HLS, DASH) by its media type.
    package var isPlaylist: Bool {
        contentType.flatMap(MediaType.init).flatMap { extensionOfMediaType[$0.essence] }.map(playlistExtensions.contains) ?? false
    }
}

/// The extensions of files that list what is to be played, and change while it is.
package let playlistExtensions: Set<String> = ["m3u8", "mpd"]

/// The longest extension that is kept, in bytes.
private let maxExtensionBytes = 8

/// What follows the last dot of the last segment of the path, in lower case; nil when that is no plain extension.
private func pathExtension(of url: String) -> String? {
    let uri: URIReference
    do throws(ParseError) {
        uri = try URIReference(lenient: url)
    } catch {
        // Nothing is lost: the name of a file just carries no extension.
        return nil
    }
    let segment = uri.path.utf8.suffix { $0 != .slash }
    guard let dot = segment.lastIndex(of: .dot), dot != segment.startIndex else { return nil }
    let bytes = segment[dot...].dropFirst()
    guard !bytes.isEmpty, bytes.count <= maxExtensionBytes, bytes.allSatisfy({ $0.isLetter || $0.isDigit }) else { return nil }
    return String(decoding: bytes, as: UTF8.self).asciiLowercased
}

extension BidirectionalCollection {
    /// The longest end of the collection whose elements all belong.
    fileprivate func suffix(while belongs: (Element) -> Bool) -> SubSequence {
        var start = endIndex
        while start != startIndex, belongs(self[index(before: start)]) { formIndex(before: &start) }
        return self[start...]
    }
}

private let mediaExtensions = Set(extensionOfMediaType.values).union([
    "3gp", "aif", "caf", "cmfa", "cmft", "cmfv", "m2ts", "m4b", "m4s", "mpeg", "mpg", "oga", "ogv", "srt", "ttml", "wma", "wmv",
])

private let extensionOfMediaType: [String: String] = [
    "application/dash+xml": "mpd",
    "application/mp4": "mp4",
    "application/mpegurl": "m3u8",
    "application/ogg": "ogg",
    "application/ttml+xml": "ttml",
    "application/vnd.apple.mpegurl": "m3u8",
    "application/x-mpegurl": "m3u8",
    "audio/aac": "aac",
    "audio/aacp": "aac",
    "audio/ac3": "ac3",
    "audio/aiff": "aiff",
    "audio/eac3": "ec3",
    "audio/flac": "flac",
    "audio/m4a": "m4a",
    "audio/mp3": "mp3",
    "audio/mp4": "m4a",
    "audio/mpeg": "mp3",
    "audio/mpegurl": "m3u8",
    "audio/ogg": "ogg",
    "audio/opus": "opus",
    "audio/vnd.wave": "wav",
    "audio/wav": "wav",
    "audio/wave": "wav",
    "audio/webm": "weba",
    "audio/x-aiff": "aiff",
    "audio/x-flac": "flac",
    "audio/x-m4a": "m4a",
    "audio/x-matroska": "mka",
    "audio/x-mpegurl": "m3u8",
    "audio/x-wav": "wav",
    "text/vtt": "vtt",
    "video/3gpp": "3gp",
    "video/iso.segment": "m4s",
    "video/matroska": "mkv",
    "video/mp2t": "ts",
    "video/mp4": "mp4",
    "video/mpeg": "mpg",
    "video/ogg": "ogv",
    "video/quicktime": "mov",
    "video/webm": "webm",
    "video/x-flv": "flv",
    "video/x-m4v": "m4v",
    "video/x-matroska": "mkv",
    "video/x-msvideo": "avi",
]
