import SpoolCore
import SpoolSystem

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

/// Decides which players of a cache load originals by themselves.
package final class CacheBypass: Sendable {
    private let state: Locked<BypassCauses>
    /// The bits of `state`, which each request reads.
    private let bits: SharedNumber
    private let engine: Engine
    private let downloads: DownloadRunner
    private let door: PlayerDoorPlace
    /// The error for which the store is not open, after `openOrBypass`.
    package let openFailure = Locked<CacheError?>(nil)

    init(engine: Engine, downloads: DownloadRunner, door: PlayerDoorPlace) {
        (self.engine, self.downloads, self.door) = (engine, downloads, door)
        let group = engine.configuration.rollout?.group
        let causes: BypassCauses = group == nil || group == .treatment ? [] : .rollout
        (state, bits) = (Locked(causes), SharedNumber(Int64(causes.rawValue)))
    }

    /// The reasons why the cache is bypassed now.
    package var causes: BypassCauses { BypassCauses(rawValue: UInt8(truncatingIfNeeded: bits.value)) }

    /// Changes the reasons, and lets everything follow that depends on them.
    package func change(_ reason: String, _ change: (inout BypassCauses) -> Void) {
        let (before, after) = state.withLock { causes in
            let before = causes
            change(&causes)
            bits.value = Int64(causes.rawValue)
            return (before, causes)
        }
        guard before != after else { return }
        // Read anew, so that of two changes on two threads the later one counts.
        engine.limiter.change { scheduler, _ in scheduler.networkChanged(isBypassed: !causes.isDisjoint(with: .stopping)) }
        if before.isEmpty != after.isEmpty { engine.record(.bypassChanged(isBypassed: !after.isEmpty, reason: reason)) }
        door.current?.bypassChanged()
    }

    /// Takes the app's own switch.
    package func app(sets isBypassed: Bool) {
        change("the app set isBypassed to \(isBypassed)") { causes in
            if isBypassed { causes.insert(.app) } else { causes.subtract(.liftable) }
        }
    }

    /// Whether a new player of a resource loads the original by itself.
    package func isOn(for key: ResourceKey) -> Bool {
        let causes = causes
        guard !causes.isEmpty else { return false }
        guard causes.isDisjoint(with: .complete) else { return true }
        return !engine.limiter.isOffline && !downloads.isFinished(key)
    }

    /// The reasons why a player cannot play an original by itself.
    package var obstacles: Set<OriginalObstacle> {
        let policy = engine.networkPolicy
        var obstacles = engine.configuration.originalObstacles
        if policy.isOffline { obstacles.insert(.noNetwork) }
        if policy.playback != NetworkAccess() { obstacles.insert(.restrictedNetwork) }
        return obstacles
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
    /// A `NetworkPolicy` or an option of the reads refuses a network that a player would use.
    case restrictedNetwork
    /// A `NetworkPolicy` or an option of the reads refuses every request.
    case noNetwork
}

extension Configuration {
    /// The reasons why no player can play originals in place of this cache.
    fileprivate var originalObstacles: Set<OriginalObstacle> {
        var obstacles: Set<OriginalObstacle> = []
        if contentTransform != nil { obstacles.insert(.contentTransform) }
        let hasFields = network.requestFieldsForURL != nil || !network.requestFields.lines.isEmpty
        if network.requestModifier != nil || hasFields { obstacles.insert(.ownRequests) }
        if network.transport != nil || network.certificateFile != nil { obstacles.insert(.ownTransport) }
        #if !os(Linux)
        // The configuration's challenges, and those of its session, are no player's. Neither are a
        // proxy, fields or credentials of the session.
        if network.onChallenge != nil || network.urlSessionConfiguration != nil { obstacles.insert(.ownTransport) }
        #endif
        return obstacles
    }
}
