/// The options of the pages and commands of a proxy.
package struct DashboardOptions: Sendable {
    /// The tracks that the status page offers to play.
    package var demoTracks: [DemoTrack] = []
    /// The address of the switches of a demo's origin (`http://127.0.0.1:8082`), or nil. The status
    /// page may ask it.
    package var demoSwitches: String?
    /// The version of the program, for its metrics.
    package var version = "unknown"
    /// Reads the settings again, and passes what came of it to the closure, or nil for a program that
    /// reads them at its start only.
    package var reload: @Sendable (_ done: @escaping @Sendable (String?) -> Void) -> Void = { $0(nil) }

    /// Creates the options of a page that only shows.
    package init() {}
}

/// A track to play on the status page.
package struct DemoTrack: Hashable, Sendable {
    /// The title that the page shows.
    package var title: String
    /// The original URL.
    package var url: String

    /// Creates a track.
    package init(title: String, url: String) {
        self.title = title
        self.url = url
    }
}
