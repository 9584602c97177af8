import Spool

/// The parts of a running server that its commands read and change.
struct Control: Sendable {
    let cache: MediaCache
    let notices: NoticeBoard
    let jobs: ControlJobs
    /// Whether the proxy serves a URL.
    let serves: @Sendable (_ url: String) -> Bool
    /// Makes the secret of a login link for a browser. Nil where the page takes no actions.
    let makeLink: (@Sendable () -> String)?
    /// Reads the settings of the program again (`DashboardOptions.reload`).
    let reload: @Sendable (_ done: @escaping @Sendable (String?) -> Void) -> Void
    /// Called after each command, because it may have changed resources.
    let changed: @Sendable () -> Void
}
