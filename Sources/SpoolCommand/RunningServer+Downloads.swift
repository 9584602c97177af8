import Spool
import SpoolCore
import SpoolJSON
import SpoolManifests

// The list of downloads of a running server.

extension RunningServer {
    /// Adds a download to the list.
    func addDownload(_ url: String, selection: PresentationSelection, key: ResourceKey, group: String, priority: Int) throws {
        let words = [
            "url": url, "key": key.string, "group": group, "priority": "\(priority)", "quality": selection.quality.word,
            "audio": selection.audio.word, "subtitles": selection.subtitles.word,
        ]
        guard try changed("download-add", words) else { throw incomprehensible }
    }

    /// Changes a download.
    ///
    /// - Returns: False if nothing changed.
    func changeDownload(_ key: ResourceKey, _ change: DownloadChange) throws -> Bool {
        var words = ["key": key.string]
        switch change {
        case .pause: return try changed("download-pause", words)
        case .resume: return try changed("download-resume", words)
        case .remove(let keepsBytes):
            if keepsBytes { words["keep"] = "1" }
            return try changed("download-remove", words)
        case .order(let priority, let place):
            words["priority"] = priority.map { "\($0)" }
            words["place"] = place.map { $0 == .first ? "first" : "last" }
            return try changed("download-order", words)
        }
    }

    /// Returns the list of downloads, and their room.
    func downloads() throws -> DownloadListing {
        var listing = DownloadListing()
        var seen = Set<String>()
        var next: Int64? = 0
        // An entry that moved between two answers may be in both.
        while let from = next {
            let answer = try post("downloads", ["from": "\(from)"])
            for entry in answer["downloads"]?.elements ?? [] {
                guard let line = DownloadListing.Line(entry) else { throw incomprehensible }
                if seen.insert(line.key).inserted { listing.lines.append(line) }
            }
            listing.usedBytes = try answer.required("usedBytes", \.integer, of: self)
            listing.allowanceBytes = answer["allowanceBytes"]?.integer
            next = answer["next"]?.integer
            if let next, next <= from { throw incomprehensible }
        }
        return listing
    }
}
