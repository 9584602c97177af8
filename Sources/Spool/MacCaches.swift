/// The default directories of a program on macOS.
///
/// Programs outside the sandbox share `~/Library/Caches`. One directory for all of them would let
/// only one of them write. So a program with a bundle identifier has a directory of its own.
package struct MacCaches {
    package let home: String
    /// The identifier of the program's bundle, or nil for a program without one.
    package let bundle: String?

    /// Creates the directories of a program.
    package init(home: String, bundle: String?) {
        self.home = home
        self.bundle = bundle
    }

    /// The directory of this program. The home of a sandboxed program is its own already.
    package func own(_ name: String) -> String {
        let caches = "\(home)/Library/Caches"
        guard let bundle, !bundle.isEmpty, !bundle.contains("/"), !home.contains("/Library/Containers/") else { return "\(caches)/\(name)" }
        return "\(caches)/\(bundle)/\(name)"
    }
}
