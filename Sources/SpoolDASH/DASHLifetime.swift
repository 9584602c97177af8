import SpoolCore
import SpoolManifests

/// The time for which a stored MPD serves (ISO/IEC 23009-1 §5.4; DASH-IF timing model).
///
/// | `@type` | `@minimumUpdatePeriod` | a stored copy serves |
/// |---|---|---|
/// | `static`, or none | any | as HTTP says |
/// | `dynamic` | none | as HTTP says: the MPD is never updated |
/// | `dynamic` | a duration | for the duration, from the start of its download |
/// | `dynamic` | zero | for no time |
///
/// A patch serves for no time: its URL answers with the difference to the newest MPD. A response of
/// 204 means that the MPD has not changed.
enum DASHLifetime {
    static func lifetime(of document: XMLDocument, _ kind: ManifestKind) -> ManifestLifetime {
        switch kind {
        case .mpdPatch: .atMost(milliseconds: 0)
        case .mpd where document.value("type", of: 0) == "dynamic":
            document.value("minimumUpdatePeriod", of: 0).map { period in
                .atMost(milliseconds: milliseconds(period.trimmingXMLSpaces) ?? 0)
            } ?? .byHTTP
        default: .byHTTP
        }
    }

    /// The longest period that counts, in milliseconds: a day. Longer ones are not a live stream's.
    static let maxMilliseconds: Int64 = 86_400_000

    /// Reads a duration of XML Schema, such as `PT2.5S`, as milliseconds.
    ///
    /// - Returns: nil for other text, and for months and years, whose length is not fixed. A long
    ///   or negative duration becomes the nearest bound.
    static func milliseconds(_ text: String) -> Int64? {
        guard let seconds = DASHDuration.seconds(text) else { return nil }
        return max(0, min(Int64(saturating: seconds * 1000), maxMilliseconds))
    }
}

/// Durations of XML Schema (`xs:duration`).
enum DASHDuration {
    /// Reads a duration, such as `P1DT2H3.5S`, as seconds.
    ///
    /// - Returns: nil for other text. Years and months count as 365 and 30 days. A longer duration
    ///   than `maxSeconds` becomes that bound, so that sums of durations are finite.
    static func seconds(_ text: String) -> Double? {
        var rest = Substring(text)
        let isNegative = rest.first == "-"
        if isNegative { rest.removeFirst() }
        guard rest.popFirst() == "P", !rest.isEmpty else { return nil }
        var sum = 0.0, isTime = false
        while let first = rest.first {
            if first == "T", !isTime {
                isTime = true
                rest.removeFirst()
                guard !rest.isEmpty else { return nil }
                continue
            }
            let number = rest.prefix { ("0"..."9").contains($0) || $0 == "." }
            guard let value = Double(number) else { return nil }
            rest = rest[number.endIndex...]
            guard let unit = rest.popFirst(), let seconds = seconds(unit, isTime: isTime) else { return nil }
            sum += value * seconds
        }
        sum = min(sum, maxSeconds)
        return isNegative ? -sum : sum
    }

    /// The longest duration, in seconds: more than a century, which no stream lasts.
    private static let maxSeconds = 1e10

    private static func seconds(_ unit: Character, isTime: Bool) -> Double? {
        switch (unit, isTime) {
        case ("S", true): 1
        case ("M", true): 60
        case ("H", true): 3_600
        case ("D", false): 86_400
        case ("W", false): 604_800
        case ("M", false): 2_592_000
        case ("Y", false): 31_536_000
        default: nil
        }
    }
}
