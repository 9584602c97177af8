/// A kind of media that the player supports: its uniform type identifier, its MIME types, its file
/// extensions and its first bytes. Every other list of media types is made from this table.
package struct MediaKind: Hashable, Sendable {
    /// The uniform type identifier, which content information requires. With a MIME type there, the
    /// player fails.
    package let identifier: String
    /// The MIME types that servers send for it, in lower case. The first one is the proper one.
    package let mediaTypes: [String]
    /// The file extensions, in lower case. The first one is used in URLs.
    package let fileExtensions: [String]
    /// Whether the kind lists other resources, whose bytes the loader cannot supply.
    package var isPlaylist = false
    /// Whether only some systems open files of this kind.
    package var isDoubtful = false
    /// The bytes at fixed places of every file of this kind, or of those that are known by them.
    fileprivate var signature: [SignaturePart] = []

    /// The preferred file extension.
    package var fileExtension: String { fileExtensions[0] }

    /// The MIME type that most origins send for files with the preferred extension.
    package var usualMediaType: String? { MediaKind.mediaType(ofFileExtension: fileExtension) }

    /// Bytes at a fixed place of a file.
    fileprivate struct SignaturePart: Hashable {
        var offset = 0
        var bytes: [UInt8]

        static func text(_ text: String, at offset: Int = 0) -> SignaturePart { SignaturePart(offset: offset, bytes: Array(text.utf8)) }
    }
}

extension MediaKind {
    /// Every kind in the table.
    package static let all: [MediaKind] = audio + video + text + playlists

    /// Returns the kind of a MIME type without parameters, in lower case.
    package static func ofMediaType(_ essence: String) -> MediaKind? { byMediaType[essence] }

    /// Returns the kind of files with this extension, in lower case.
    package static func ofFileExtension(_ name: String) -> MediaKind? { byFileExtension[name] }

    /// Returns the kind with this uniform type identifier.
    package static func ofIdentifier(_ identifier: String) -> MediaKind? { all.first { $0.identifier == identifier } }

    /// Returns the kind whose signature a file begins with.
    package static func ofSignature(_ bytes: [UInt8]) -> MediaKind? {
        bySignature.first { kind in
            kind.signature.allSatisfy { part in
                bytes.count >= part.offset + part.bytes.count && bytes[part.offset...].starts(with: part.bytes)
            }
        }
    }

    /// Returns the MIME type of files with this extension (without a dot, in any case), as most
    /// origins send it, or nil for an unknown extension.
    package static func mediaType(ofFileExtension name: String) -> String? { mediaTypeOfExtension[name.asciiLowercased] }

    /// Returns the preferred file extension of a MIME type without parameters, in lower case, or nil
    /// for an unknown type.
    package static func fileExtension(ofMediaType essence: String) -> String? { extensionOfMediaType[essence] }

    /// Whether files with this extension, in lower case, are media.
    package static func isMediaExtension(_ name: String) -> Bool { mediaExtensions.contains(name) }

    /// The types whose extensions differ from those of their kinds, and those of media without an
    /// identifier. The first extension of a type is the preferred one, and the first type of an
    /// extension is the usual one. They come before the kinds.
    private static let pairs: [(type: String, extensions: [String])] = [
        ("audio/mp4", ["m4a", "m4b", "cmfa"]), ("video/mp4", ["mp4", "cmfv"]), ("application/mp4", ["mp4", "cmft"]),
        ("audio/webm", ["weba"]), ("audio/x-matroska", ["mka"]), ("video/ogg", ["ogv"]), ("video/iso.segment", ["m4s"]),
        ("video/mpeg", ["mpg", "mpeg"]), ("video/x-flv", ["flv"]), ("video/x-ms-wmv", ["wmv"]), ("audio/x-ms-wma", ["wma"]),
        ("application/ttml+xml", ["ttml"]), ("application/x-subrip", ["srt"]),
    ]

    private static let extensionOfMediaType = Dictionary(
        pairs.map { ($0.type, $0.extensions[0]) } + all.flatMap { kind in kind.mediaTypes.map { ($0, kind.fileExtension) } },
        uniquingKeysWith: { first, _ in first })
    private static let mediaTypeOfExtension = Dictionary(
        pairs.flatMap { pair in pair.extensions.map { ($0, pair.type) } }
            + all.flatMap { kind in kind.mediaTypes.prefix(1).flatMap { type in kind.fileExtensions.map { ($0, type) } } },
        uniquingKeysWith: { first, _ in first })
    private static let mediaExtensions = playlistExtensions.union(
        pairs.flatMap(\.extensions) + all.filter { !$0.isPlaylist }.flatMap(\.fileExtensions))
    private static let bySignature = all.filter { !$0.signature.isEmpty }

    private static let byMediaType = Dictionary(
        all.flatMap { kind in kind.mediaTypes.map { ($0, kind) } }, uniquingKeysWith: { first, _ in first })
    private static let byFileExtension = Dictionary(
        all.flatMap { kind in kind.fileExtensions.map { ($0, kind) } }, uniquingKeysWith: { first, _ in first })

    /// MP3 audio.
    package static let mp3 = MediaKind(
        identifier: "public.mp3",
        mediaTypes: [
            "audio/mpeg", "audio/mp3", "audio/x-mp3", "audio/mpeg3", "audio/x-mpeg3", "audio/mpg", "audio/x-mpg", "audio/x-mpeg",
        ],
        fileExtensions: ["mp3"], signature: [.text("ID3")])
    /// MPEG-4 audio in an `.m4a` file.
    package static let m4a = MediaKind(
        identifier: "com.apple.m4a-audio", mediaTypes: ["audio/x-m4a", "audio/m4a"], fileExtensions: ["m4a"])
    /// An audiobook in an `.m4b` file.
    package static let m4b = MediaKind(
        identifier: "com.apple.protected-mpeg-4-audio-b", mediaTypes: ["audio/x-m4b", "audio/m4b"], fileExtensions: ["m4b"])
    /// MPEG-4 audio. The system uses this kind for `audio/mp4` and `m4a` for `.m4a`. Both open the
    /// same way.
    package static let mpeg4Audio = MediaKind(
        identifier: "public.mpeg-4-audio", mediaTypes: ["audio/mp4"], fileExtensions: ["mp4a"])
    /// AAC audio in ADTS frames.
    package static let aac = MediaKind(
        identifier: "public.aac-audio", mediaTypes: ["audio/aac", "audio/x-aac", "audio/aacp", "audio/vnd.dlna.adts"],
        fileExtensions: ["aac", "adts"])
    /// WAV audio.
    package static let wav = MediaKind(
        identifier: "com.microsoft.waveform-audio", mediaTypes: ["audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"],
        fileExtensions: ["wav", "wave", "bwf"], signature: [.text("RIFF"), .text("WAVE", at: 8)])
    /// AIFF audio.
    package static let aiff = MediaKind(
        identifier: "public.aiff-audio", mediaTypes: ["audio/aiff", "audio/x-aiff"], fileExtensions: ["aiff", "aif"],
        signature: [.text("FORM"), .text("AIFF", at: 8)])
    /// Compressed AIFF audio.
    package static let aifc = MediaKind(
        identifier: "public.aifc-audio", mediaTypes: [], fileExtensions: ["aifc", "cdda"], signature: [.text("FORM"), .text("AIFC", at: 8)])
    /// Core Audio Format.
    package static let caf = MediaKind(
        identifier: "com.apple.coreaudio-format", mediaTypes: ["audio/x-caf"], fileExtensions: ["caf"], signature: [.text("caff")])
    /// FLAC audio.
    package static let flac = MediaKind(
        identifier: "org.xiph.flac", mediaTypes: ["audio/flac", "audio/x-flac"], fileExtensions: ["flac"], signature: [.text("fLaC")])
    /// AC-3 audio.
    package static let ac3 = MediaKind(
        identifier: "public.ac3-audio", mediaTypes: ["audio/ac3", "audio/x-ac3"], fileExtensions: ["ac3"],
        signature: [SignaturePart(bytes: [0x0B, 0x77])])
    /// Enhanced AC-3 audio.
    package static let eac3 = MediaKind(
        identifier: "public.enhanced-ac3-audio", mediaTypes: ["audio/eac3", "audio/x-eac3"], fileExtensions: ["ec3", "eac3"])
    /// AMR audio.
    package static let amr = MediaKind(
        identifier: "org.3gpp.adaptive-multi-rate-audio", mediaTypes: ["audio/amr"], fileExtensions: ["amr"], signature: [.text("#!AMR")])
    /// Sun audio.
    package static let au = MediaKind(
        identifier: "public.au-audio", mediaTypes: ["audio/basic"], fileExtensions: ["au", "snd"], signature: [.text(".snd")])
    /// Opus audio. The name of the codec is behind the header of the first Ogg page.
    package static let opus = MediaKind(
        identifier: "org.xiph.opus", mediaTypes: ["audio/opus"], fileExtensions: ["opus"], isDoubtful: true,
        signature: [.text("OggS"), .text("OpusHead", at: 28)])
    /// Ogg audio.
    package static let ogg = MediaKind(
        identifier: "org.xiph.ogg-audio", mediaTypes: ["audio/ogg", "application/ogg", "video/ogg"], fileExtensions: ["ogg", "oga", "ogv"],
        isDoubtful: true, signature: [.text("OggS")])

    private static let audio = [
        mp3, m4a, m4b,
        MediaKind(identifier: "com.apple.protected-mpeg-4-audio", mediaTypes: ["audio/x-m4p"], fileExtensions: ["m4p"]),
        MediaKind(identifier: "com.apple.mpeg-4-ringtone", mediaTypes: ["audio/x-m4r"], fileExtensions: ["m4r"]),
        mpeg4Audio, aac, wav, aiff, aifc, caf, flac, ac3, eac3, amr, au, opus, ogg,
    ]

    /// MPEG-4 video.
    package static let mp4 = MediaKind(
        identifier: "public.mpeg-4", mediaTypes: ["video/mp4", "application/mp4"], fileExtensions: ["mp4", "mpg4"])
    /// A QuickTime movie.
    package static let mov = MediaKind(
        identifier: "com.apple.quicktime-movie", mediaTypes: ["video/quicktime"], fileExtensions: ["mov", "qt"])
    /// MPEG-4 video in an `.m4v` file.
    package static let m4v = MediaKind(identifier: "com.apple.m4v-video", mediaTypes: ["video/x-m4v"], fileExtensions: ["m4v"])
    /// 3GPP media.
    package static let mobile3GPP = MediaKind(
        identifier: "public.3gpp", mediaTypes: ["video/3gpp", "audio/3gpp"], fileExtensions: ["3gp", "3gpp", "sdv"])
    /// 3GPP2 media.
    package static let mobile3GPP2 = MediaKind(
        identifier: "public.3gpp2", mediaTypes: ["video/3gpp2", "audio/3gpp2"], fileExtensions: ["3g2", "3gp2"])
    /// An MPEG-2 transport stream.
    package static let transportStream = MediaKind(
        identifier: "public.mpeg-2-transport-stream", mediaTypes: ["video/mp2t"], fileExtensions: ["ts", "m2ts"])
    /// AVI video.
    package static let avi = MediaKind(
        identifier: "public.avi", mediaTypes: ["video/x-msvideo", "video/avi"], fileExtensions: ["avi"], isDoubtful: true,
        signature: [.text("RIFF"), .text("AVI ", at: 8)])
    /// WebM media.
    package static let webm = MediaKind(
        identifier: "org.webmproject.webm", mediaTypes: ["video/webm", "audio/webm"], fileExtensions: ["webm"], isDoubtful: true,
        signature: [SignaturePart(bytes: [0x1A, 0x45, 0xDF, 0xA3])])
    /// Matroska media.
    package static let matroska = MediaKind(
        identifier: "org.matroska.mkv", mediaTypes: ["video/x-matroska", "video/matroska", "audio/x-matroska"],
        fileExtensions: ["mkv", "mka"], isDoubtful: true)

    private static let video = [mp4, mov, m4v, mobile3GPP, mobile3GPP2, transportStream, avi, webm, matroska]

    private static let text = [MediaKind(identifier: "org.w3.webvtt", mediaTypes: ["text/vtt"], fileExtensions: ["vtt"])]

    /// An HLS playlist, or another M3U playlist.
    package static let hls = MediaKind(
        identifier: "public.m3u-playlist",
        mediaTypes: [
            "application/vnd.apple.mpegurl", "application/x-mpegurl", "application/mpegurl", "audio/mpegurl", "audio/x-mpegurl",
        ],
        fileExtensions: ["m3u8", "m3u"], isPlaylist: true, signature: [.text("#EXTM3U")])

    private static let playlists = [
        hls,
        MediaKind(
            identifier: "public.pls-playlist", mediaTypes: ["audio/scpls", "audio/x-scpls"], fileExtensions: ["pls"], isPlaylist: true),
        // The player cannot read DASH, so such a manifest goes to the original URL.
        MediaKind(identifier: "org.iso.dash-mpd", mediaTypes: ["application/dash+xml"], fileExtensions: ["mpd"], isPlaylist: true),
    ]
}
