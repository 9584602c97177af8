import SpoolCore
#if canImport(os)
import SpoolSystem
import os
#endif

/// An interval that Instruments shows on Apple's systems, until `end` or the end of the object.
///
/// While no tool records there is none, and a begin costs one check. On Linux there is never one.
final class Signpost: Sendable {
    #if canImport(os)
    private static let signposter = OSSignposter(subsystem: "spool", category: "cache")

    private let name: StaticString
    private let state: Locked<OSSignpostIntervalState?>

    /// Begins an interval about a resource, or returns nil.
    init?(_ name: StaticString, _ key: ResourceKey) {
        guard Self.signposter.isEnabled else { return nil }
        self.name = name
        let id = Self.signposter.makeSignpostID()
        state = Locked(Self.signposter.beginInterval(name, id: id, "\(key.forLog, privacy: .public)"))
    }

    deinit { end() }

    /// Ends the interval. Idempotent: the system traps at a second end.
    func end() {
        guard let ended = state.withLock({ exchange(&$0, with: nil) }) else { return }
        Self.signposter.endInterval(name, ended)
    }
    #else
    init?(_ name: StaticString, _ key: ResourceKey) { return nil }

    func end() {}
    #endif
}
