import SpoolManifests

/// The flags that select the renditions of an adaptive stream.
enum SelectionFlags {
    static let variant = Flag(
        "variant", takes: "WHICH", words: ["best", "worst"],
        help: "The variant of an HLS or DASH stream: 'best', 'worst', the greatest height in pixels (720), or the greatest bandwidth"
            + " in bits a second (2500000). The default is 'best'.")
    static let audio = Flag(
        "audio", takes: "LANG",
        help: "The language of the sound of an HLS or DASH stream, for example 'en'. By default a player's choice.")
    static let subtitles = Flag(
        "subtitles", takes: "LANG", help: "The language of the subtitles of an HLS or DASH stream, or 'all'. By default none.")

    static let all = [variant, audio, subtitles]

    /// Whether the arguments contain one of the flags.
    static func isGiven(_ arguments: Arguments) -> Bool { all.contains(where: arguments.has) }

    /// The variant for a preload, which begins with what a player starts with.
    static let start = Flag(
        "variant", takes: "WHICH", words: ["initial", "best", "worst"],
        help: "The variant of an HLS or DASH stream: 'initial', 'best', 'worst', the greatest height in pixels (720), or the greatest"
            + " bandwidth in bits a second (2500000). The default is 'initial', the variant that a player starts with.")

    /// Returns the variant that `start` names.
    static func startingVariant(_ arguments: Arguments) throws(UsageError) -> PresentationSelection.Quality {
        try arguments.value(start, expected: "initial, best, worst, a height or a bandwidth") { text in
            text == "initial" ? .initial : quality(text)
        } ?? .initial
    }

    static func selection(_ arguments: Arguments) throws(UsageError) -> PresentationSelection {
        var selection = PresentationSelection()
        if let quality = try arguments.value(variant, expected: "best, worst, a height or a bandwidth", quality) {
            selection.quality = quality
        }
        if let language = arguments[audio] { selection.audio = .only(language) }
        if let language = arguments[subtitles] { selection.subtitles = language == "all" ? .all : .only(language) }
        return selection
    }

    /// The greatest number that is a height. No picture is higher, and no stream has so few bits.
    private static let maxHeight: Int64 = 10_000

    private static func quality(_ text: String) -> PresentationSelection.Quality? {
        switch text {
        case "best": return .best
        case "worst": return .worst
        default:
            guard let number = Int64(text), number > 0 else { return nil }
            return number <= maxHeight ? .height(number) : .bandwidth(number)
        }
    }
}
