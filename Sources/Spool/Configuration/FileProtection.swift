import SpoolSystem

#if !os(Linux)
import Foundation
#endif

/// When the system lets stored media be read on a device with a passcode. This is the data
/// protection of Apple's systems; other systems have none.
public enum FileProtection: Sendable {
    /// From the first unlock after a start on. Media plays while the screen is locked.
    case completeUntilFirstUserAuthentication
    /// While the device is unlocked. Playback stops when the screen is locked, and nothing is
    /// stored meanwhile.
    case complete
    /// At any time.
    case none
    /// As for the directory that contains the store.
    case inherited
}

/// The attributes that the system keeps for the files of a store.
package struct StoreAttributes: Hashable {
    /// Whether backups leave out the store.
    package var isExcludedFromBackup: Bool
    /// When the system lets the files be read.
    package var protection: FileProtection

    /// Creates the attributes of a configuration, or returns nil if the store is opened for reading
    /// only.
    package init?(_ configuration: Configuration) {
        guard !configuration.storage.isReadOnly else { return nil }
        isExcludedFromBackup = configuration.security.isExcludedFromBackup
        protection = configuration.security.fileProtection
    }

    #if os(Linux)
    /// Does nothing: this system has no such attributes.
    func apply(to directory: String) throws {}
    #else
    /// Sets the attributes of the directory of the store, and creates it if it is missing. New
    /// files in the directory inherit its protection class, and backups leave out its content with
    /// it.
    func apply(to directory: String) throws {
        try POSIXFileSystem().createDirectory(directory)
        var url = URL(fileURLWithPath: directory, isDirectory: true)
        var values = URLResourceValues()
        values.isExcludedFromBackup = isExcludedFromBackup
        try url.setResourceValues(values)
        #if os(iOS) || os(tvOS) || os(visionOS)
        guard let type = protection.type else { return }
        // Existing files get the attribute one by one. Data files of another class keep theirs.
        for name in ["", "/data", "/lock", "/spool.sqlite", "/spool.sqlite-wal", "/spool.sqlite-shm"] {
            guard try POSIXFileSystem().status(directory + name) != nil else { continue }
            try FileManager.default.setAttributes([.protectionKey: type], ofItemAtPath: directory + name)
        }
        #endif
    }
    #endif
}

#if os(iOS) || os(tvOS) || os(visionOS)
extension FileProtection {
    /// The name of the class in Foundation, or nil to leave the class unchanged.
    fileprivate var type: FileProtectionType? {
        switch self {
        case .completeUntilFirstUserAuthentication: .completeUntilFirstUserAuthentication
        case .complete: .complete
        // Not `.none`, which would be no value at all.
        case .none: FileProtectionType.none
        case .inherited: nil
        }
    }
}
#endif
