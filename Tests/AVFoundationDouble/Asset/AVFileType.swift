/// A file format by its type identifier.
public struct AVFileType: RawRepresentable, Hashable, Sendable {
    /// The type identifier.
    public let rawValue: String

    /// Makes a type from an identifier.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Makes a type from an identifier.
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// QuickTime.
    public static let mov = AVFileType("com.apple.quicktime-movie")
    /// MPEG-4.
    public static let mp4 = AVFileType("public.mpeg-4")
    /// MPEG-4 video as Apple names it.
    public static let m4v = AVFileType("com.apple.m4v-video")
    /// MPEG-4 audio as Apple names it.
    public static let m4a = AVFileType("com.apple.m4a-audio")
    /// 3GPP.
    public static let mobile3GPP = AVFileType("public.3gpp")
    /// 3GPP2.
    public static let mobile3GPP2 = AVFileType("public.3gpp2")
    /// Core Audio Format.
    public static let caf = AVFileType("com.apple.coreaudio-format")
    /// WAVE.
    public static let wav = AVFileType("com.microsoft.waveform-audio")
    /// AIFF.
    public static let aiff = AVFileType("public.aiff-audio")
    /// AIFF-C.
    public static let aifc = AVFileType("public.aifc-audio")
    /// Adaptive Multi-Rate.
    public static let amr = AVFileType("org.3gpp.adaptive-multi-rate-audio")
    /// MPEG layer 3.
    public static let mp3 = AVFileType("public.mp3")
    /// Sun audio.
    public static let au = AVFileType("public.au-audio")
    /// AC-3.
    public static let ac3 = AVFileType("public.ac3-audio")
    /// Enhanced AC-3.
    public static let eac3 = AVFileType("public.enhanced-ac3-audio")
}
