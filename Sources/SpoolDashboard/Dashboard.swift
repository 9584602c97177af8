package import Spool
import SpoolCore
package import SpoolProxy
import SpoolSystem

/// The status page, the reports and the commands of a program that runs a proxy.
///
/// ```swift
/// let dashboard = Dashboard(cache: cache, of: options, DashboardOptions())
/// let proxy = try ProxyServer(cache: cache, options: options, ownPages: dashboard.pages)
/// ```
package final class Dashboard: Sendable {
    private let cache: MediaCache
    private let options: DashboardOptions
    /// The token for commands at `/_spool/api/` (POST) from programs on this machine, or nil to
    /// disable commands.
    private let programToken: String?
    /// Whether the proxy stands in for a site. The site's pages have the address of the status
    /// page, so their scripts could do the same as its own.
    private let isOfSite: Bool
    /// The first segment below `/_spool/` where strangers or a site's scripts reach the pages, or
    /// nil. The scripts of a site share the proxy's browser origin, and must not be able to read
    /// the proxy's own pages.
    private let secret: String?
    private let listing: ResourceListing
    private let traffic = Locked(RecentTraffic())
    /// Kept from now on, so that a page that is opened after an event shows it.
    package let notices: NoticeBoard

    /// Creates the pages of a proxy that does not listen yet.
    ///
    /// - Parameter proxy: The options of the proxy.
    package init(cache: MediaCache, of proxy: ProxyOptions, _ options: DashboardOptions) {
        self.cache = cache
        self.options = options
        programToken = proxy.programToken
        listing = ResourceListing(cache)
        notices = NoticeBoard(of: cache)
        isOfSite = proxy.fixedOrigin != nil
        // Without a token, a proxy before this one would show the pages to strangers.
        let isOpen = isOfSite || (proxy.fronts != nil && proxy.token == nil)
        secret = isOpen ? cache.nameInVia().page : nil
    }

    /// The path of the status page below the address of the proxy.
    private var path: String { ProxiedPath.ownPrefix + (secret.map { "\($0)/" } ?? "") }

    /// Returns the URL of the status page, or nil while the proxy does not listen. With a fixed
    /// origin the URL contains a secret, which hides the page from the site's scripts.
    package func pageURL(at proxy: ProxyServer) -> String? { proxy.baseURL.map { $0 + path } }

    /// Returns the pages of a proxy that starts.
    package func pages(at place: ProxyPlace) -> any OwnPages {
        let pageDoor =
            programToken == nil || isOfSite
            ? nil : PageDoor(time: cache.environment.time, random: cache.environment.random, cookiePath: place.prefix + path)
        let jobs = ControlJobs()
        let events = PageEvents(cache: cache, notices: notices) { jobs.changes }
        let control = Control(
            cache: cache, notices: notices, jobs: jobs, serves: { place.playPath($0) != nil }, makeLink: pageDoor.map { $0.makeLink },
            reload: options.reload, changed: { events.changed() })
        return DashboardPages(
            listing: listing, options: options, secret: secret, control: control, pageDoor: pageDoor,
            programDoor: programToken.map { ProgramDoor(control: control, token: $0) }, place: place, traffic: traffic, events: events)
    }
}
