import Spool
package import SpoolCore

/// The settings of one player, for every resource that it gets through the proxy.
package struct VisitSettings: Sendable {
    /// Returns the key of a resource, or nil for the cache's own.
    package var key: @Sendable (_ url: String) -> ResourceKey?
    /// Returns the fields for the origin requests of a resource.
    package var requestFields: @Sendable (_ url: String) -> HTTPFields
    /// The networks that the requests may use, or nil for all.
    package var access: NetworkAccess?

    /// Creates settings.
    package init(
        key: @escaping @Sendable (_ url: String) -> ResourceKey? = { _ in nil },
        requestFields: @escaping @Sendable (_ url: String) -> HTTPFields = { _ in HTTPFields() }, access: NetworkAccess? = nil
    ) {
        self.key = key
        self.requestFields = requestFields
        self.access = access
    }
}
