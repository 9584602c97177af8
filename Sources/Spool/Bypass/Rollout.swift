import SpoolStore

/// The part of an app's users whose players use a cache.
///
/// The group of a user follows from the salt and the user's unit alone, so it is the same at each
/// start and on each device. A user who is in the treatment stays there when the fraction grows.
///
/// ```swift
/// configuration.rollout = Rollout(fraction: 0.01, control: 0.01, salt: "2026-12", unit: "user 4711")
/// ```
public struct Rollout: Hashable, Sendable {
    /// The group of a user.
    public enum Group: String, Codable, Hashable, Sendable {
        /// Players use the cache.
        case treatment
        /// Players load originals, and are measured like those of the other group.
        case control
        /// Players load originals.
        case excluded
    }

    /// The part of the users whose players use the cache, from 0 to 1.
    package var fraction: Double
    /// The part of the users that stands for all others in a comparison, from 0 to 1.
    package var control: Double
    /// A text that each experiment has for itself, so that two experiments have different users.
    package var salt: String
    /// The identity of the user or the installation. Spool keeps it in this value alone.
    package var unit: String

    /// Creates a rollout.
    public init(fraction: Double, control: Double = 0, salt: String, unit: String) {
        (self.fraction, self.control, self.salt, self.unit) = (fraction, control, salt, unit)
    }

    /// The group of the user. The groups of treatment and control grow from the two ends of one
    /// line, and treatment has precedence where they meet.
    public var group: Group {
        // 53 bits are a number that a Double represents exactly.
        let word = SHA256Digest.of("\(salt.utf8.count):\(salt)\(unit)").prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let place = Double(word >> 11) / Double(UInt64(1) << 53)
        if place < fraction { return .treatment }
        return place >= 1 - control ? .control : .excluded
    }
}
