package import SpoolCore

/// The settings of one player, for every resource that it gets through the proxy.
package struct VisitSettings: Sendable {
    /// Returns the key of a resource, or nil for the cache's own.
    package var key: @Sendable (_ url: String) -> ResourceKey?
    /// Returns the fields for the origin requests of a resource.
    package var requestFields: @Sendable (_ url: String) -> HTTPFields
    /// The networks that the requests may use, or nil for all.
    package var access: NetworkAccess?
    /// Whether the references of manifests lead through the proxy. Otherwise a manifest is a
    /// resource like any other, and `Representation.finalURLField` names its URL behind redirects.
    var rewritesManifests = true
    /// The settings, for a client that reads manifests by itself.
    var withManifestsAsTheyAre: VisitSettings {
        var settings = self
        settings.rewritesManifests = false
        return settings
    }

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
