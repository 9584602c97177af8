/// A request below `/_spool/` for scripts, which `docs/openapi.json` describes. All others are private
/// to the program and its page, and may change without notice.
package struct OwnRoute: Hashable, Sendable {
    /// The method, in upper case.
    package var method: String
    /// The path behind `/_spool/`.
    package var path: String
    /// The parameters of its query.
    package var parameters: Set<String>

    /// Creates a route.
    package init(method: String, path: String, parameters: Set<String>) {
        self.method = method
        self.path = path
        self.parameters = parameters
    }

    /// The routes for scripts, from the tables by which requests are answered.
    package static let documented: Set<OwnRoute> = Set(
        DashboardPages.pages.filter(\.value.isDocumented).map {
            OwnRoute(method: "GET", path: $0.key, parameters: Set($0.value.parameters))
        }
            + ControlVerb.all.filter(\.value.isDocumented).map {
                OwnRoute(method: "POST", path: ProgramDoor.path + $0.key, parameters: Set($0.value.parameters))
            })
}
