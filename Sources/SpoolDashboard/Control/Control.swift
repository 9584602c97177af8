import Spool
import SpoolSystem

/// The parts of a running server that its commands read and change.
final class Control: Sendable {
    let cache: MediaCache
    let notices: NoticeBoard
    let jobs: ControlJobs
    /// Whether the proxy serves a URL.
    let serves: @Sendable (_ url: String) -> Bool
    /// Makes the secret of a login link for a browser. Nil where the page takes no actions.
    let makeLink: (@Sendable () -> String)?
    /// Called after each command, because it may have changed resources.
    let changed: @Sendable () -> Void

    init(
        cache: MediaCache, notices: NoticeBoard, jobs: ControlJobs, serves: @escaping @Sendable (_ url: String) -> Bool,
        makeLink: (@Sendable () -> String)?, changed: @escaping @Sendable () -> Void
    ) {
        self.cache = cache
        self.notices = notices
        self.jobs = jobs
        self.serves = serves
        self.makeLink = makeLink
        self.changed = changed
    }
}
