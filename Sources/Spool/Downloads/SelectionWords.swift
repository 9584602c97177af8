package import SpoolManifests

// A selection as words, for the entry of a download in the store, and for the interface of a server.

extension PresentationSelection {
    /// Reads the words of a selection. The default takes the place of a word that is missing or not
    /// known.
    package init(quality: String?, audio: String?, subtitles: String?) {
        self.init()
        if let known = quality.flatMap(Quality.init(word:)) { self.quality = known }
        if let known = audio.flatMap(Languages.init(word:)) { self.audio = known }
        if let known = subtitles.flatMap(Languages.init(word:)) { self.subtitles = known }
    }
}

extension PresentationSelection.Quality {
    private static let height = "height ", bandwidth = "bandwidth "

    /// The word of the quality.
    package var word: String {
        switch self {
        case .best: "best"
        case .initial: "initial"
        case .worst: "worst"
        case .height(let pixels): Self.height + "\(pixels)"
        case .bandwidth(let bits): Self.bandwidth + "\(bits)"
        }
    }

    package init?(word: String) {
        func number(after name: String) -> Int64? { word.hasPrefix(name) ? Int64(word.dropFirst(name.count)) : nil }
        switch word {
        case "best": self = .best
        case "initial": self = .initial
        case "worst": self = .worst
        default:
            if let pixels = number(after: Self.height) {
                self = .height(pixels)
            } else if let bits = number(after: Self.bandwidth) {
                self = .bandwidth(bits)
            } else {
                return nil
            }
        }
    }
}

extension PresentationSelection.Languages {
    private static let only = "only "

    /// The word of the choice.
    package var word: String {
        switch self {
        case .standard: "standard"
        case .none: "none"
        case .all: "all"
        case .only(let tag): Self.only + tag
        }
    }

    package init?(word: String) {
        switch word {
        case "standard": self = .standard
        case "none": self = .none
        case "all": self = .all
        default:
            guard word.hasPrefix(Self.only) else { return nil }
            self = .only(String(word.dropFirst(Self.only.count)))
        }
    }
}
