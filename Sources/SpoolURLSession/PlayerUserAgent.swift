package import Foundation
#if canImport(Darwin)
internal import SpoolSystem
#endif

/// The `User-Agent` of AVFoundation's own requests.
///
/// No document describes its form. Logs of origins show this one for iPhone, iPad, Apple TV and Mac.
package enum PlayerUserAgent {
    /// Returns the value for a system, for example `AppleCoreMedia/1.0.0.21F90 (iPhone; U; CPU OS
    /// 17_5 like Mac OS X; de_de)`.
    ///
    /// - Parameters:
    ///   - device: `iPhone`, `iPad`, `Apple TV` or `Macintosh`.
    ///   - build: The build of the system.
    ///   - locale: A language and a region, such as `de_DE`, or a language alone.
    package static func text(device: String, build: String, version: OperatingSystemVersion, locale: String) -> String {
        let patch = version.patchVersion == 0 ? "" : "_\(version.patchVersion)"
        let number = "\(version.majorVersion)_\(version.minorVersion)\(patch)"
        // A Mac with a processor of Apple says Intel, too.
        let system = device == "Macintosh" ? "Intel Mac OS X \(number)" : "CPU OS \(number) like Mac OS X"
        return "AppleCoreMedia/1.0.0.\(build) (\(device); U; \(system); \(locale.lowercased()))"
    }

    #if canImport(Darwin)
    /// The value for this system at this moment. Nil on visionOS, whose form is not known.
    package static var ofSystem: String? {
        guard let device, let build = ProcessIdentity.fact("kern.osversion") else { return nil }
        let names = [Locale.current.language.languageCode?.identifier, Locale.current.region?.identifier]
        return text(
            device: device, build: build, version: ProcessInfo.processInfo.operatingSystemVersion,
            locale: names.compactMap(\.self).joined(separator: "_"))
    }

    private static var device: String? {
        #if os(macOS) || targetEnvironment(macCatalyst)
        "Macintosh"
        #elseif os(tvOS)
        "Apple TV"
        #elseif os(iOS)
        ProcessIdentity.fact("hw.machine")?.hasPrefix("iPad") == true ? "iPad" : "iPhone"
        #else
        nil
        #endif
    }
    #endif
}
