#if os(Linux)
import COpenSSL
import CSQLite
#else
import SQLite3
#endif

/// The libraries that a store uses.
package enum StoreLibraries {
    /// The name and version of each library, as this process has loaded it.
    package static var versions: [String] {
        let sqlite = "SQLite " + String(cString: sqlite3_libversion())
        #if os(Linux)
        // "OpenSSL 3.0.15 3 Sep 2024".
        let openSSL = String(cString: OpenSSL_version(OPENSSL_VERSION)).split(separator: " ").prefix(2).joined(separator: " ")
        return [sqlite, openSSL]
        #else
        return [sqlite]
        #endif
    }
}
