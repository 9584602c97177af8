import SpoolLibc
import SpoolSystem

/// The files of settings that a command reads.
enum ConfigurationPlaces {
    static let flag = Flag(
        "config", takes: "FILE", environment: "SPOOL_CONFIG",
        help:
            "A file of settings, in place of $XDG_CONFIG_HOME/spool/spool.conf (or ~/.config/spool/spool.conf) and /etc/spool/spool.conf. The"
            + " command line and the environment have precedence. See 'spool help config'.")

    static let system = "/etc/spool/spool.conf"

    /// The paths that are read without `--config`. The first file with a setting decides.
    static var standard: [String] {
        let user: String? =
            if let base = Environment["XDG_CONFIG_HOME"], base.hasPrefix("/") { base } else {
                Environment["HOME"].flatMap { $0.isEmpty ? nil : $0 + "/.config" }
            }
        return (user.map { ["\($0)/spool/spool.conf"] } ?? []) + [system]
    }

    /// Reads the files.
    ///
    /// - Parameter given: The file that `--config` or `SPOOL_CONFIG` names. It must be readable. The
    ///   standard files may be missing, and the one of the system may be for other users.
    static func read(_ given: String?) throws(UsageError) -> [ConfigurationFile] {
        var files: [ConfigurationFile] = []
        for path in given.map({ [$0] }) ?? standard {
            do { files.append(try ConfigurationFile.read(path, home: Environment["HOME"])) } catch let error as UsageError {
                throw error
            } catch let error as SystemError where given == nil && [ENOENT, ENOTDIR, EACCES].contains(error.code) {
                continue
            } catch {
                throw UsageError("the settings can't be read: \(error)")
            }
        }
        return files
    }
}
