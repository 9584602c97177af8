import SpoolCore

/// The renditions of an HLS or DASH presentation that a download takes.
///
/// ```swift
/// var selection = PresentationSelection()
/// selection.quality = .height(720)
/// selection.subtitles = .all
/// ```
public struct PresentationSelection: Hashable, Sendable {
    /// The choice among the variants of the picture.
    public enum Quality: Hashable, Sendable {
        /// The highest variant. Of several, the one with the greatest bandwidth.
        case best
        /// The variant that a player starts with: the first one that an HLS playlist lists, and the
        /// best one of a DASH manifest for one megabit a second.
        case initial
        /// The variant with the lowest bandwidth.
        case worst
        /// The best variant that is not higher than this, in pixels; else the lowest.
        case height(Int64)
        /// The best variant that needs at most this, in bits a second; else the lowest.
        case bandwidth(Int64)
    }

    /// The choice among the languages of the sound or of the subtitles.
    public enum Languages: Hashable, Sendable {
        /// The rendition that a player takes by itself.
        case standard
        /// None of them.
        case none
        /// All of them.
        case all
        /// The renditions of one language, as a tag of RFC 5646. `en` also takes `en-GB`.
        case only(String)
    }

    /// The variant to take. The default is `.best`.
    public var quality = Quality.best
    /// The sound to take. The default is `.standard`.
    public var audio = Languages.standard
    /// The subtitles to take. The default is `.none`.
    public var subtitles = Languages.none

    /// Creates the default selection: the best variant with its sound, without subtitles.
    public init() {}

    /// The selected renditions of an outline, in its order.
    ///
    /// A period of DASH is selected by itself, because renditions change between periods.
    ///
    /// - Parameter choose: Returns the index of a variant, or nil to choose by `quality`.
    package func renditions(of outline: StreamOutline, choose: ([StreamRendition]) -> Int? = { _ in nil }) -> [StreamRendition] {
        let periods = outline.periods
        return periods.isEmpty ? selectedHLS(outline.renditions, choose) : periods.flatMap { selectedDASH($0, choose) }
    }

    private func selectedHLS(_ all: [StreamRendition], _ choose: ([StreamRendition]) -> Int?) -> [StreamRendition] {
        guard let variant = best(of: all.filter { $0.kind == .video }, choose, isInOrder: true) else { return [] }
        let sound = all.filter { $0.kind == .audio && $0.group == variant.audioGroup }
        let texts = all.filter { $0.kind == .subtitles && $0.group == variant.subtitleGroup }
        return [variant] + Self.select(audio, of: sound) + Self.select(subtitles, of: texts)
    }

    private func selectedDASH(_ period: [StreamRendition], _ choose: ([StreamRendition]) -> Int?) -> [StreamRendition] {
        let video = best(of: period.filter { $0.kind == .video }, choose).map { [$0] } ?? []
        // Of one language, the best sound is taken.
        let sound = Self.select(audio, of: Self.bestOfEachLanguage(period.filter { $0.kind == .audio }))
        let texts = Self.select(subtitles, of: Self.bestOfEachLanguage(period.filter { $0.kind == .subtitles }))
        return video + sound + texts
    }

    /// The bandwidth that players of DASH assume before they have measured the link.
    private static let initialBandwidth: Int64 = 1_000_000

    /// - Parameter isInOrder: Whether players start with the first of the variants.
    private func best(
        of variants: [StreamRendition], _ choose: ([StreamRendition]) -> Int?, isInOrder: Bool = false
    ) -> StreamRendition? {
        if !variants.isEmpty, let chosen = choose(variants), variants.indices.contains(chosen) { return variants[chosen] }
        let lowest = variants.min { $0.bandwidth < $1.bandwidth }
        func highest(_ isAllowed: (StreamRendition) -> Bool) -> StreamRendition? {
            variants.filter(isAllowed).max { ($0.height, $0.bandwidth) < ($1.height, $1.bandwidth) } ?? lowest
        }
        switch quality {
        case .best: return highest { _ in true }
        case .worst: return lowest
        case .height(let height): return highest { $0.height <= height }
        case .initial: return isInOrder ? variants.first : best(upTo: Self.initialBandwidth, of: variants) ?? lowest
        case .bandwidth(let bandwidth): return best(upTo: bandwidth, of: variants) ?? lowest
        }
    }

    private func best(upTo bandwidth: Int64, of variants: [StreamRendition]) -> StreamRendition? {
        variants.filter { $0.bandwidth <= bandwidth }.max { $0.bandwidth < $1.bandwidth }
    }

    private static func bestOfEachLanguage(_ all: [StreamRendition]) -> [StreamRendition] {
        var result: [StreamRendition] = [], places: [String: Int] = [:]
        for rendition in all {
            guard let index = places[rendition.language] else {
                places[rendition.language] = result.count
                result.append(rendition)
                continue
            }
            if result[index].bandwidth < rendition.bandwidth { result[index] = rendition }
        }
        return result
    }

    private static func select(_ languages: Languages, of all: [StreamRendition]) -> [StreamRendition] {
        switch languages {
        case .none: []
        case .all: all
        case .standard: all.first { $0.isDefault }.map { [$0] } ?? Array(all.prefix(1))
        case .only(let tag): all.filter { $0.language.matches(tag) }
        }
    }
}

extension StreamOutline {
    /// The renditions of each period of DASH; empty for HLS.
    fileprivate var periods: [[StreamRendition]] {
        var result: [[StreamRendition]] = []
        for rendition in renditions where rendition.playlist == nil && !rendition.parts.isEmpty {
            if result.last?.first?.group == rendition.group {
                result[result.count - 1].append(rendition)
            } else {
                result.append([rendition])
            }
        }
        return result
    }
}

extension String {
    /// Whether this tag is `range`, or begins with it (RFC 4647 §3.3.1).
    fileprivate func matches(_ range: String) -> Bool {
        let (tag, range) = (asciiLowercased, range.asciiLowercased)
        return tag == range || tag.hasPrefix(range + "-")
    }
}
