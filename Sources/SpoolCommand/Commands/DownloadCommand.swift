import Spool
import SpoolCore
import SpoolDashboard
import SpoolJSON
import SpoolManifests

/// `spool download`: shows and changes the list of downloads of a store.
struct DownloadCommand: Command {
    static let group = Flag("group", takes: "NAME", help: "With 'add': the group of the downloads. Otherwise: every download of a group.")
    static let priority = Flag("priority", takes: "N", help: "With 'add' and 'order': higher ones run first; 0 by default.")
    static let first = Flag("first", help: "With 'order': before all others of the same priority.")
    static let last = Flag("last", help: "With 'order': after all others of the same priority.")
    static let all = Flag("all", help: "Every download, in place of URLs.")
    static let keepBytes = Flag("keep-bytes", help: "With 'rm': leave the stored bytes in the cache, where they count towards the quota.")
    static let json = Flag("json", help: "Print JSON.")

    static let syntax = CommandSyntax(
        "download", "List, add, pause, resume and remove downloads",
        discussion: [
            "The store keeps a list of resources and of HLS and DASH streams to fetch as a whole. 'spool serve' fetches them, the highest"
                + " priority first, and goes on after a restart where it was. Players come first. Without a server the list waits.",
            "'add' enters URLs, or tries failed downloads again. 'ls', or no word, shows the list. 'pause', 'resume', 'rm' and 'order' change entries."
                + " A '*' in a URL stands for any characters. Exits 1 when one of the entries was not there or did not change.",
            "The bytes of downloads are not evicted and do not count towards the quota. They have an allowance of their own, which"
                + " 'spool serve --download-room' sets. 'rm' removes the bytes, too.",
        ],
        operands: .init(
            usage: "[add|ls|pause|resume|rm|order] [URL|KEY…]", count: 0...CommandSyntax.maxOperands,
            completion: .words(Action.allCases.map(\.rawValue))),
        flags: [group, priority] + SelectionFlags.all + [first, last, all, keepBytes, json] + CacheSettings.store + KeySettings.names,
        examples: [
            .init("spool download add https://example.com/film.mp4", "Enter a film into the list."),
            .init("spool download add --group trip --priority 1 https://example.com/song.mp3", "Enter a song that runs before the film."),
            .init("spool download add --variant 720 https://example.com/film.m3u8", "Enter an HLS stream, at most 720 pixels high."),
            .init("spool download ls", "Show the list."),
            .init("spool download pause --group trip", "Pause a group."),
            .init("spool download order --first https://example.com/film.mp4", "Fetch the film before the others of its priority."),
        ])

    private enum Action: String, CaseIterable {
        case add, ls, pause, resume, rm, order
    }

    private let settings: CacheSettings
    private let action: Action
    private let names: [String]
    private let arguments: Arguments
    private let priorityValue: Int?
    private let selection: PresentationSelection

    private var groupName: String? { arguments[Self.group] }
    private var place: DownloadPlace? { arguments.has(Self.first) ? .first : arguments.has(Self.last) ? .last : nil }
    private var isAll: Bool { arguments.has(Self.all) }
    private var isJSON: Bool { arguments.isJSON }

    init(_ arguments: Arguments) throws(UsageError) {
        let word = arguments.operands.first.map(Program.name(for:)) ?? Action.ls.rawValue
        guard let action = Action(rawValue: word) else {
            let known = Action.allCases.map(\.rawValue)
            throw UsageError("there is no 'download \(word)'" + Suggestion.note(for: word, among: known), command: Self.syntax.name)
        }
        settings = try CacheSettings(arguments)
        self.action = action
        names = arguments.operands.dropFirst().map(arguments.meant)
        self.arguments = arguments
        priorityValue = try arguments.value(Self.priority, expected: "a whole number") { Int($0) }
        selection = try SelectionFlags.selection(arguments)
        try check()
    }

    /// Refuses flags without a meaning for the action, and an action without entries.
    private func check() throws(UsageError) {
        func fail(_ what: String) -> UsageError { UsageError(what, command: Self.syntax.name) }
        let meanings: [(Flag, [Action])] =
            [
                (Self.group, [.add, .pause, .resume, .rm, .order, .ls]), (Self.priority, [.add, .order]), (Self.first, [.order]),
                (Self.last, [.order]), (Self.all, [.pause, .resume, .rm]), (Self.keepBytes, [.rm]),
            ] + SelectionFlags.all.map { ($0, [.add]) }
        for (flag, actions) in meanings where arguments.has(flag) && !actions.contains(action) {
            throw fail("flag \(flag.spelling) has no meaning for '\(action.rawValue)'")
        }
        if arguments.has(Self.first), arguments.has(Self.last) { throw fail("--first and --last exclude each other") }
        if action == .order, priorityValue == nil, place == nil { throw fail("--priority, --first or --last is missing") }
        switch action {
        case .ls: if !names.isEmpty { throw fail("'ls' takes no URL; --group shows one group") }
        case .add: if names.isEmpty { throw fail("URL… is missing") }
        case .pause, .resume, .rm, .order:
            guard [!names.isEmpty, groupName != nil, isAll].filter(\.self).count == 1 else {
                throw fail("give either URLs, --group NAME or --all")
            }
        }
    }

    func run() async throws -> ExitCode {
        switch action {
        case .ls: return try await show()
        case .add: return try await add()
        case .pause: return try await change("paused") { _ in .pause }
        case .resume: return try await change("resumed") { _ in .resume }
        case .rm: return try await change("removed") { _ in .remove(keepsBytes: arguments.has(Self.keepBytes)) }
        case .order: return try await change("moved") { _ in .order(priority: priorityValue, place: place) }
        }
    }

    // MARK: Showing

    private func show() async throws -> ExitCode {
        let cache = try settings.openToRead()
        var found = try await cache.closing { try await listing(in: cache, server(hasStoreOf: cache)) }
        if let groupName { found.lines.removeAll { $0.group != groupName } }
        try OutputStream.output.write(isJSON ? found.json : found.text)
        return .success
    }

    /// The server that answers commands. One that was killed does not, and the store has the list.
    private func server(hasStoreOf cache: MediaCache) throws -> RunningServer? {
        guard let server = RunningServer.announced(in: try settings.directory()) else { return nil }
        do { try server.enterReceived() } catch { return nil }
        return server
    }

    private func listing(in cache: MediaCache, _ server: RunningServer?) async throws -> DownloadListing {
        if let server { return try server.downloads() }
        var listing = DownloadListing()
        listing.lines = try await cache.downloads.list().map(DownloadReport.json).compactMap(DownloadListing.Line.init)
        listing.usedBytes = try await cache.downloads.room().usedBytes
        return listing
    }

    // MARK: Changing

    private func add() async throws -> ExitCode {
        try await settings.changing { cache, server in
            var objects: [String] = []
            for url in names {
                let key = settings.key(url)
                let (group, priority) = (groupName ?? "", priorityValue ?? 0)
                if let server {
                    try server.addDownload(url, selection: selection, key: key, group: group, priority: priority)
                } else {
                    try await cache.downloads.add(url, selection: selection, key: key, group: group, priority: priority)
                }
                objects.append(object(key.string, url, hasChanged: true))
                if !isJSON { try OutputStream.output.write("added \(url.printable)\n") }
            }
            if isJSON { try OutputStream.output.write("[\(objects.map { "\n" + $0 }.joined(separator: ","))\n]\n") }
            if server == nil {
                Message(.notice, "spool: the list waits; 'spool serve' on this store fetches it").say(as: arguments.outputFormat)
            }
            return .success
        }
    }

    private func change(_ word: String, _ change: (ResourceKey) -> DownloadChange) async throws -> ExitCode {
        try settings.requireStore()
        return try await settings.changing { cache, server in
            var objects: [String] = []
            var code = ExitCode.success
            for line in try chosen(among: await listing(in: cache, server).lines) {
                let key = ResourceKey(normalized: line.key)
                let hasChanged = try await perform(change(key), key, cache, server)
                objects.append(object(line.key, line.url, hasChanged: hasChanged))
                if !isJSON, hasChanged { try OutputStream.output.write("\(word) \(line.url.printable)\n") }
                // A group, a pattern and '--all' mean those of their entries that change.
                if !hasChanged, names.contains(where: { settings.key($0) == key }) {
                    code = .failure
                    let note = "spool: \(line.url) is \(line.state); nothing changed"
                    Message(.notice, note, url: line.url).say(as: arguments.outputFormat)
                }
            }
            if isJSON { try OutputStream.output.write("[\(objects.map { "\n" + $0 }.joined(separator: ","))\n]\n") }
            return code
        }
    }

    private func perform(
        _ change: DownloadChange, _ key: ResourceKey, _ cache: MediaCache, _ server: RunningServer?
    ) async throws -> Bool {
        if let server { return try server.changeDownload(key, change) }
        switch change {
        case .pause: return try await cache.downloads.pause(key)
        case .resume: return try await cache.downloads.resume(key)
        case .remove(let keepsBytes): return try await cache.downloads.remove(key, keepingBytes: keepsBytes)
        case .order(let priority, let place):
            var hasChanged = false
            if let priority { hasChanged = try await cache.downloads.setPriority(priority, of: key) }
            if let place { hasChanged = try await cache.downloads.move(key, to: place) || hasChanged }
            return hasChanged
        }
    }

    /// Returns the entries that the operands mean, in the order of the list.
    ///
    /// - Throws: `Failure` when one of them means none, before the command has changed anything.
    private func chosen(among lines: [DownloadListing.Line]) throws -> [DownloadListing.Line] {
        if isAll { return lines }
        if let groupName {
            let members = lines.filter { $0.group == groupName }
            guard !members.isEmpty else { throw noDownload("of the group '\(groupName)'") }
            return members
        }
        var chosen = Set<String>()
        for name in names {
            let key = settings.key(name).string
            var found = lines.filter { $0.key == key }
            if found.isEmpty, ResourcePattern.isPattern(name) {
                let pattern = ResourcePattern(name, policy: settings.configuration.freshness.keyPolicy)
                found = lines.filter { pattern.matches(ResourceKey(normalized: $0.key)) }
            }
            guard !found.isEmpty else { throw noDownload("'\(name)'") }
            chosen.formUnion(found.map(\.key))
        }
        return lines.filter { chosen.contains($0.key) }
    }

    private func noDownload(_ what: String) -> Failure {
        Failure("the list has no download \(what); 'spool download ls' shows it", name: CacheError.Code.notStored.rawValue)
    }

    private func object(_ key: String, _ url: String, hasChanged: Bool) -> String {
        JSON.object([("key", .string(key)), ("url", .string(url)), ("changed", .bool(hasChanged))]).text
    }
}
