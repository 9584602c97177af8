#if !os(watchOS)
package import Foundation
package import Spool
package import SpoolCore

/// What an asset is made of, as far as its loader needs it. The original URL travels here and is never rebuilt from the custom one.
package struct LoaderSource: Sendable {
    package var originalURL: URL
    package var key: ResourceKey
    /// Fields, networks and policy of the asset's reads.
    package var options: ReadOptions
    /// The app's word on what the resource is: a MIME type or a type identifier.
    package var typeHint: String?
    /// When the answer expires by the app's knowledge, say with the signature of the URL.
    package var renewalDate: Date?

    package init(originalURL: URL, key: ResourceKey, options: ReadOptions, typeHint: String? = nil, renewalDate: Date? = nil) {
        self.originalURL = originalURL
        self.key = key
        self.options = options
        self.typeHint = typeHint
        self.renewalDate = renewalDate
    }

    /// Where the player is sent that can't be served: a playlist to the cache's own server if there is one, all else to the original.
    func redirectTarget(_ reason: FallbackReason, _ loopback: (any LoopbackEndpoint)?) -> URL {
        guard reason == .playlist, let local = loopback?.url(for: originalURL.absoluteString).flatMap({ URL(string: $0) }) else {
            return originalURL
        }
        return local
    }
}

extension FallbackReason {
    /// In words for people.
    var words: String {
        switch self {
        case .unknownLength: "the origin does not tell how long it is"
        case .playlist: "it is a playlist, whose segments the loader can't give"
        case .contentCoding(let coding): "its bytes are coded by \(coding)"
        case .trouble(let code): "the cache can't serve it: \(code)"
        case .remembered: "an asset of it was sent to the original before"
        }
    }

    func error(_ key: ResourceKey) -> CacheError {
        CacheError(.fellBack, "the player loads the original URL by itself: \(words)", key: key)
    }
}

/// The version that a player was told of.
struct ToldVersion {
    var generation: GenerationID
    var representation: Representation
    var contentType: String?

    /// Whether bytes of that version may follow bytes of this one.
    ///
    /// Another generation is the same version when both have one strong validator and one length: a resource that was evicted or removed
    /// and fetched again. Without a strong validator each request has a response of its own, as it has when the player loads without
    /// a cache: then an equal length and type are the same version to the player. The bytes of one response are never completed by
    /// stored ones of another.
    func isSame(_ other: GenerationID, _ representation: Representation) -> Bool {
        if generation == other { return true }
        let told = self.representation
        guard told.length == representation.length else { return false }
        if told.validator.isStrong || representation.validator.isStrong { return told.validator == representation.validator }
        return told.looksLike(representation)
    }
}
#endif
