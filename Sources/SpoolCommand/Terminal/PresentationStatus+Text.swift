import Spool
import SpoolCore
import SpoolJSON

extension PresentationStatus {
    /// The state in one word.
    var stateText: String { isComplete ? "whole" : isLive ? "live" : "part" }

    /// The lines that show the tracks.
    var description: String {
        var text = "stream     \(stateText), \(ByteCount.text(storedBytes)) in \(resources.count) resources\n"
        for track in tracks.prefix(Self.maxTracks) { text += "track      \(track.description.printable)\n" }
        if tracks.count > Self.maxTracks { text += "           and \(tracks.count - Self.maxTracks) more\n" }
        return text
    }

    /// The most tracks that are listed. `--json` lists all of them.
    private static let maxTracks = 100

    /// The status as one JSON object. Counts of parts are null while the playlist of a track is not
    /// stored.
    var json: String {
        JSON.object([
            ("key", .string(key.string)), ("url", .string(url)), ("presentation", .bool(true)), ("complete", .bool(isComplete)),
            ("live", .bool(isLive)), ("pinned", .bool(isPinned)), ("storedBytes", .integer(storedBytes)),
            ("resources", .integer(Int64(resources.count))), ("tracks", .array(tracks.map(\.json))),
        ]).text
    }
}

extension PresentationStatus.Track {
    fileprivate var description: String {
        let facts = [
            kind.rawValue, height > 0 ? "\(height) pixels" : nil, bandwidth > 0 ? "\(bandwidth) bits a second" : nil,
            language.isEmpty ? nil : language, partCount.map { "\(storedPartCount) of \($0) parts" } ?? "not stored",
            isPlayable ? "whole" : nil,
        ]
        return facts.compactMap { $0 }.joined(separator: ", ")
    }

    fileprivate var json: JSON {
        .object([
            ("kind", .string(kind.rawValue)), ("bandwidth", .integer(bandwidth)), ("height", .integer(height)),
            ("language", .string(language)), ("parts", JSON(partCount.map(Int64.init))), ("storedParts", .integer(Int64(storedPartCount))),
            ("complete", .bool(isComplete)), ("playable", .bool(isPlayable)),
        ])
    }
}
