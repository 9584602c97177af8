package import Spool
package import SpoolCore

/// The presentations of a listing, and the resources that they stand for.
package struct PresentationGroups: Sendable {
    private var byKey: [ResourceKey: PresentationStatus] = [:]
    private var parts = Set<ResourceKey>()

    /// Creates the groups of presentations. Without any, each resource stands for itself.
    package init(_ presentations: [PresentationStatus] = []) {
        for presentation in presentations {
            byKey[presentation.key] = presentation
            parts.formUnion(presentation.resources)
        }
        parts.subtract(byKey.keys)
    }

    /// The presentation whose manifest has the key.
    package subscript(key: ResourceKey) -> PresentationStatus? { byKey[key] }

    /// Whether the resource is a part of a presentation, and not the manifest that names it.
    package func contains(_ key: ResourceKey) -> Bool { parts.contains(key) }
}
