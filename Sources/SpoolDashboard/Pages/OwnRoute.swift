/// A request below `/_spool/` that the proxy answers. `docs/openapi.json` describes all of them.
package struct OwnRoute: Hashable, Sendable {
    /// The method, in upper case.
    package var method: String
    /// The path behind `/_spool/`.
    package var path: String

    /// Creates a route.
    package init(method: String, path: String) {
        self.method = method
        self.path = path
    }

    /// All routes: the pages and reports, the actions of the page, and the commands of programs.
    package static let all: Set<OwnRoute> = Set(
        DashboardPages.pages.keys.map { OwnRoute(method: "GET", path: $0) }
            + [OwnRoute(method: "GET", path: "health")]
            + [OwnRoute(method: "GET", path: PageActions.path + "jobs")]
            + (PageActions.verbs.keys + ["login"]).map { OwnRoute(method: "POST", path: PageActions.path + $0) }
            + (AdminAPI.verbs.keys + [AdminAPI.login, AdminAPI.advice]).map { OwnRoute(method: "POST", path: AdminAPI.path + $0) })

    /// The parameters of the query of an action of the page or of the list of resources, or nil for
    /// another route.
    package var queryParameters: [String]? {
        if path == "api/resources" { return ResourceReport.parameters }
        return path.hasPrefix(PageActions.path) ? PageActions.verbs[String(path.dropFirst(PageActions.path.count))]?.parameters : nil
    }
}
