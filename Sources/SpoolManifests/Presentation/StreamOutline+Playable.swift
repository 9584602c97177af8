// The renditions that play without the network, and a manifest that offers no others.

extension StreamOutline {
    /// Returns the renditions that a player can take when only complete ones can be read.
    ///
    /// A variant of HLS needs one rendition of its group of sound. A period of DASH needs one
    /// rendition of each kind that it has, picture and sound.
    ///
    /// - Parameter isComplete: Returns whether every part of the rendition with this index can be
    ///   read.
    /// - Returns: The indices of the renditions; empty when the presentation can't play to its end.
    package func playable(_ isComplete: (Int) -> Bool) -> Set<Int> {
        let complete = Set(renditions.indices.filter(isComplete))
        return isMultivariant ? playableVariants(complete) : playablePeriods(complete)
    }

    /// The indices of the renditions that decide whether something plays: the variants of HLS, and
    /// the pictures of DASH, or its sound where it has no picture.
    package var variants: [Int] {
        let pictures = renditions.indices.filter { renditions[$0].kind == .video }
        return pictures.isEmpty ? renditions.indices.filter { renditions[$0].kind == .audio } : pictures
    }

    private func playableVariants(_ complete: Set<Int>) -> Set<Int> {
        var groups = Set(renditions.filter { $0.kind == .audio }.map(\.group))
        groups.subtract(complete.filter { renditions[$0].kind == .audio }.map { renditions[$0].group })
        groups.subtract(groupsInside)
        let silent = groups
        let result = complete.filter { index in
            let rendition = renditions[index]
            return rendition.kind != .video || !(rendition.audioGroup.map(silent.contains) ?? false)
        }
        return result.contains { renditions[$0].kind == .video } ? result : []
    }

    private func playablePeriods(_ complete: Set<Int>) -> Set<Int> {
        struct Need: Hashable {
            var period: String
            var kind: StreamRendition.Kind
        }
        func needs(_ indices: some Sequence<Int>) -> Set<Need> {
            Set(
                indices.filter { [.video, .audio].contains(renditions[$0].kind) }.map {
                    Need(period: renditions[$0].group, kind: renditions[$0].kind)
                })
        }
        let all = needs(renditions.indices)
        return !all.isEmpty && needs(complete) == all ? complete : []
    }
}

extension ManifestContents {
    /// Removes the renditions of a manifest that are not in `offered`.
    ///
    /// An adaptation set without renditions is removed as a whole, and a variant no longer names a
    /// group of subtitles that has become empty. All other bytes stay.
    ///
    /// - Parameters:
    ///   - outline: The outline of the same manifest.
    ///   - offered: The indices of the renditions that stay.
    package mutating func offer(_ offered: Set<Int>, of outline: StreamOutline) { remove(outline.spans(besides: offered)) }

    /// Removes bytes of the manifest, with the references and the edits in them.
    package mutating func remove(_ spans: [Range<Int>]) {
        var removed: [Range<Int>] = []
        for span in spans.sorted(by: { ($0.lowerBound, $1.upperBound) < ($1.lowerBound, $0.upperBound) }) {
            if span.lowerBound >= removed.last?.upperBound ?? 0 { removed.append(span) }
        }
        for span in removed { edits.replace(span, with: []) }
        // Both lists are in the order of the document.
        var next = removed.startIndex
        references.removeAll { span in
            while next < removed.endIndex, removed[next].upperBound <= span.lowerBound { next += 1 }
            return next < removed.endIndex && removed[next].contains(span.lowerBound)
        }
    }
}

extension StreamOutline {
    /// The bytes that offer other renditions.
    package func spans(besides offered: Set<Int>) -> [Range<Int>] {
        let texts = Set(offered.filter { renditions[$0].kind == .subtitles }.map { renditions[$0].group })
        let kept = Set(offered.compactMap { renditions[$0].container })
        let emptied = Set(renditions.filter { $0.kind == .subtitles }.map(\.group)).subtracting(texts)
        var spans = Set<Range<Int>>()
        for (index, rendition) in renditions.enumerated() {
            if offered.contains(index) {
                if let span = rendition.subtitleAttribute, emptied.contains(rendition.subtitleGroup ?? "") { spans.insert(span) }
            } else if let container = rendition.container, !kept.contains(container) {
                spans.insert(container)
            } else {
                spans.formUnion(rendition.places)
            }
        }
        return Array(spans)
    }
}
