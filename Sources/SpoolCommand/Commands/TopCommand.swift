import SpoolCore
import SpoolJSON
import SpoolSystem

/// `spool top`: shows the activity of a running server, live.
struct TopCommand: Command {
    static let interval = Flag("interval", "i", takes: "TIME", help: "The time between two looks, from 0.1s to 1h; 1s by default.")
    static let count = Flag("count", "n", takes: "N", help: "End after so many looks.")
    static let json = Flag("json", help: "Print one JSON object for each look, on a line of its own.")

    static let syntax = CommandSyntax(
        "top", "Show what a running server does, live",
        discussion: [
            "Readers, fetches, rates, the share of hits, the store, and each resource in use. On a terminal it fills the screen: q quits, s"
                + " changes the order. Elsewhere it prints one line for each look.",
            "The server is the one that has the store of --cache.",
        ],
        flags: [interval, count, json, CacheSettings.directory],
        examples: [
            .init("spool top", "Watch the server of your store."),
            .init("spool top --json --interval 10s --count 6", "Collect a minute for a script."),
        ])

    private let settings: CacheSettings
    private let interval: Nanoseconds
    private let count: Int
    private let isJSON: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        settings = try CacheSettings(arguments)
        let interval = try arguments.value(Self.interval, expected: "a time from 0.1s to 1h") { TimeText.parse($0, within: 0.1...3600) }
        self.interval = interval ?? .seconds(1)
        count = try arguments.value(Self.count, expected: "a number above 0") { Int($0).flatMap { $0 > 0 ? $0 : nil } } ?? .max
        isJSON = arguments.has(Self.json)
    }

    func run() async throws -> ExitCode {
        let directory = try settings.directory()
        let server = try RunningServer.required(in: directory)
        let interruption = try await Interruption.install()
        let isFullScreen = OutputStream.output.isTerminal && !isJSON
        let screen = isFullScreen ? FullScreen() : nil
        // A second signal ends the program at once, so the first one restores the terminal.
        interruption.onFirst { screen?.leave() }
        let watch = TopWatch(server: server, directory: directory, interval: interval, isJSON: isJSON, screen: screen)
        let result = await withCheckedContinuation { continuation in
            // Waits on a thread of its own, because the pool that runs this function must not
            // block.
            let thread = SystemThread(name: "spool-top") {
                continuation.resume(returning: Result { try watch.run(count: count) { interruption.signal != nil } })
            }
            withExtendedLifetime(thread) {}
        }
        screen?.leave()
        try result.get()
        return .success
    }
}

/// The looks of `spool top` at a server, one after the other. Blocks its thread.
private struct TopWatch: Sendable {
    let server: RunningServer
    let directory: String
    let interval: Nanoseconds
    let isJSON: Bool
    let screen: FullScreen?

    /// The time between two looks at the keyboard and the size of the terminal, in milliseconds.
    private static let turnMilliseconds: Int32 = 50

    func run(count: Int, isStopped: () -> Bool) throws {
        var view = TopScreen(address: server.publicAddress, style: TerminalStyle(.output))
        var before: TopSample?
        var last: TopSample?
        let time = SystemTime()
        for look in 1... {
            do {
                // The server may have been started again, on another port.
                let text = try (RunningServer.announced(in: directory) ?? server).status()
                let sample = TopSample(text, time: time.now.nanoseconds)
                guard let sample else { throw server.incomprehensible }
                (before, last, view.trouble) = (last, sample, nil)
                if screen == nil { try print(text, sample, TopRates(from: before, to: sample), view) }
            } catch {
                guard screen != nil, last != nil else { throw error }
                view.trouble = ExitCode.of(error).message
            }
            let end = time.now + interval
            if look == count || wait(until: end, time, &view, before, last, isStopped) { return }
        }
    }

    private func print(_ text: String, _ sample: TopSample, _ rates: TopRates, _ view: TopScreen) throws {
        let now = SystemTime().wallNow.iso8601
        guard isJSON else { return try OutputStream.output.write(view.plainLine(sample, rates, at: now) + "\n") }
        let json = JSON.object([
            ("time", .string(now)), ("servedBytesPerSecond", .integer(rates.served)), ("fetchedBytesPerSecond", .integer(rates.fetched)),
        ])
        // The server's object follows as the last member.
        try OutputStream.output.write(json.text.dropLast() + ",\"status\":" + text + "}\n")
    }

    /// Draws, and handles keys and a new size, until `end`.
    ///
    /// - Returns: Whether the user wants to quit.
    private func wait(
        until end: MonotonicInstant, _ time: SystemTime, _ view: inout TopScreen, _ before: TopSample?, _ last: TopSample?,
        _ isStopped: () -> Bool
    ) -> Bool {
        var drawn: (columns: Int, rows: Int) = (0, 0)
        while !isStopped() {
            let size = FullScreen.size
            if size != drawn, let screen, let last {
                screen.draw(view.lines(last, TopRates(from: before, to: last), columns: size.columns, rows: size.rows))
                drawn = size
            }
            let left = Int32(clamping: (end - time.now) / 1_000_000)
            if left <= 0 { return false }
            guard screen != nil else {
                FullScreen.pause(milliseconds: min(left, Self.turnMilliseconds))
                continue
            }
            switch FullScreen.key(within: min(left, Self.turnMilliseconds)) {
            case "q"?, "Q"?, "\u{3}"?: return true
            case "s"?, "S"?:
                view.order = view.order.next
                drawn = (0, 0)
            default: break
            }
        }
        return true
    }
}
