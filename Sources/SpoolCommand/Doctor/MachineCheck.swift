import Spool
import SpoolLibc
import SpoolOrigin
import SpoolStore
import SpoolSystem

/// The checks of the machine: libraries, descriptors, certificates, proxies of the environment, and
/// players.
struct MachineCheck {
    let settings: CacheSettings

    /// The descriptors of a server with a few hundred clients.
    private static let wantedDescriptors = 4096

    func findings() -> [Finding] {
        [program, descriptors, certificates, proxies, players].compactMap(\.self)
    }

    private var program: Finding {
        var libraries = StoreLibraries.versions
        #if os(Linux)
        libraries.append(CurlLibrary.version)
        #endif
        return .ok("program", "spool \(VersionCommand.version), " + libraries.joined(separator: ", "))
    }

    private var descriptors: Finding {
        let count = DescriptorLimit.raise()
        guard count >= Self.wantedDescriptors else {
            return .warning(
                "open files", "\(count) are allowed, so 'spool serve' takes few connections",
                advice: "raise the limit: 'ulimit -n 65536', or LimitNOFILE=65536 in a systemd unit")
        }
        return .ok("open files", "\(count) are allowed")
    }

    private var certificates: Finding? {
        #if os(Linux)
        guard let path = settings.configuration.network.certificateFile ?? CurlLibrary.certificateFile else { return nil }
        guard access(path, R_OK) == 0 else {
            return .problem(
                "certificates", "\(path) can't be read, so HTTPS origins can't be verified",
                advice: "install the package ca-certificates, or give --ca-file FILE")
        }
        return .ok("certificates", path)
        #else
        return nil
        #endif
    }

    private var proxies: Finding? {
        #if os(Linux)
        let names = EnvironmentProxy().names
        guard !names.isEmpty else { return .ok("proxies", "no variable names a proxy for origins") }
        let isAre = names.count == 1 ? "is" : "are"
        return .warning(
            "proxies", "\(names.joined(separator: " and ")) \(isAre) set: requests to origins go through that proxy",
            advice: "unset the variable if that is not intended, or name hosts in no_proxy")
        #else
        return nil
        #endif
    }

    private var players: Finding {
        let found = PlayCommand.playerNames.filter(Self.isInstalled)
        guard !found.isEmpty else {
            return .warning("players", "none is installed, so 'spool play' has none", advice: "install mpv, VLC or ffplay")
        }
        return .ok("players", found.joined(separator: ", "))
    }

    private static func isInstalled(_ program: String) -> Bool {
        let directories = Environment["PATH"]?.split(separator: ":") ?? []
        return directories.contains { access("\($0)/\(program)", X_OK) == 0 }
    }
}
