import SpoolCore
import SpoolSystem

// The switch that sends players past the cache.

/// The reasons why players of a cache load originals by themselves.
package struct BypassCauses: OptionSet, Sendable {
    /// The bits of the causes.
    package let rawValue: UInt8

    /// Creates causes from bits.
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The app set `MediaCache.isBypassed`.
    package static let app = BypassCauses(rawValue: 1)
    /// Originals played where the cache had failed, several times.
    package static let rescues = BypassCauses(rawValue: 2)
    /// The app ended twice while an item of the cache opened.
    package static let crashes = BypassCauses(rawValue: 4)
    /// The rollout has the cache off for this user.
    package static let rollout = BypassCauses(rawValue: 8)
    /// The store cannot be opened.
    package static let notOpened = BypassCauses(rawValue: 16)

    /// The causes that end when the app sets `isBypassed` to false.
    static let liftable: BypassCauses = [.app, .rescues, .crashes]
    /// The causes that concern every resource. The others leave finished downloads alone, and
    /// everything while there is no network.
    static let complete: BypassCauses = [.app, .notOpened]
    /// The causes that stop preloads and downloads. A rollout concerns players alone.
    static let stopping: BypassCauses = [.app, .rescues, .crashes, .notOpened]
}

extension MediaCache {
    /// Whether players load originals by themselves, as without a cache.
    ///
    /// Settable on any thread, for example by a remote configuration. A change takes effect at
    /// once, and the app decides whether it outlives the process:
    ///
    /// - A new asset is a plain one of its original URL (`AssetRoute.Reason.bypassed`), and a proxy
    ///   redirects its clients to the origin.
    /// - An item whose player waits for its first answer is sent to the original. An item that has
    ///   its information goes on to its end: a cut would be the worse fault.
    /// - Preloads and downloads stop, keep their bytes, and go on when the value is false again.
    ///
    /// The store stays untouched. Setting it to true concerns all resources, finished downloads
    /// included, also without a network. The cache bypasses itself in three cases: the app ended
    /// twice while an item opened, several items were rescued, or a rollout excludes the user. In
    /// these cases finished downloads still play from the store, and so does everything while there
    /// is no network. False ends a bypass by the app and by crashes and rescues. Items whose
    /// original the player could not play, such as those of a `ContentTransform`, stay with the
    /// cache.
    public var isBypassed: Bool {
        get { !bypassCauses.isEmpty }
        set {
            changeBypass("the app set isBypassed to \(newValue)") { causes in
                if newValue { causes.insert(.app) } else { causes.subtract(.liftable) }
            }
        }
    }

    /// The reasons why the cache is bypassed now.
    package var bypassCauses: BypassCauses { bypass.withLock { $0 } }

    /// Changes the reasons, and lets everything follow that depends on them.
    package func changeBypass(_ reason: String, _ change: (inout BypassCauses) -> Void) {
        let (before, after) = bypass.withLock { causes in
            let before = causes
            change(&causes)
            return (before, causes)
        }
        guard before != after else { return }
        // Read anew, so that of two changes on two threads the later one counts.
        engine.limiter.change { scheduler, _ in
            scheduler.networkChanged(isBypassed: !bypassCauses.isDisjoint(with: .stopping))
        }
        if before.isEmpty != after.isEmpty { record(.bypassChanged(isBypassed: !after.isEmpty, reason: reason)) }
        playerDoor.current?.bypassChanged()
    }

    /// Whether a new player of a resource loads the original by itself.
    package func isBypassed(_ key: ResourceKey) -> Bool {
        let causes = bypassCauses
        guard !causes.isEmpty else { return false }
        guard causes.isDisjoint(with: .complete) else { return true }
        return !engine.limiter.isOffline && !downloadRunner.isFinished(key)
    }

    /// The reason why a player cannot play originals by itself, or nil.
    package var originalObstacle: OriginalObstacle? {
        configuration.originalObstacle ?? (networkPolicy.playback == NetworkAccess() ? nil : .restrictedNetwork)
    }
}

/// The reason why a player cannot play an original in place of the cache: the bytes would be
/// garbage, or the request unauthorised, unsafe or forbidden.
package enum OriginalObstacle: String, Hashable, Sendable {
    /// A `ContentTransform` changes the bytes.
    case contentTransform
    /// The app answers requests for keys.
    case ownKeys
    /// The app answers authentication challenges.
    case ownChallenges
    /// The app changes requests, or gives fields for them, that a player would not send.
    case ownRequests
    /// The app gave fields for one asset. A redirect has them, and a plain asset has not.
    case ownFields
    /// The app's own transport, certificates or proxy lead to the origin.
    case ownTransport
    /// A `NetworkPolicy` refuses a network that a player would use.
    case restrictedNetwork
}

extension Configuration {
    /// The reason why no player can play originals in place of this cache, or nil.
    var originalObstacle: OriginalObstacle? {
        if contentTransform != nil { return .contentTransform }
        let hasFields = network.requestFieldsForURL != nil || !network.requestFields.lines.isEmpty
        if network.requestModifier != nil || hasFields { return .ownRequests }
        if network.transport != nil || network.certificateFile != nil { return .ownTransport }
        #if !os(Linux)
        if network.onChallenge != nil { return .ownChallenges }
        // It may have a proxy, fields or credentials that a player has not.
        if network.urlSessionConfiguration != nil { return .ownTransport }
        #endif
        return nil
    }
}
