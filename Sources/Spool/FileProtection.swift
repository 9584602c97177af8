import SpoolSystem

#if !os(Linux)
import Foundation
#endif

/// When the system lets stored media be read on a device with a passcode (Apple's data protection; other systems have none).
public enum FileProtection: Sendable {
    /// From the first unlock after a start on: media play while the screen is locked.
    case completeUntilFirstUserAuthentication
    /// While the device is unlocked. What plays stops with the screen's lock, and nothing is stored meanwhile.
    case complete
    /// Always.
    case none
    /// As the directory has it that the store lies in.
    case inherited
}

/// What the files of a store are to the system besides their bytes.
package struct StoreAttributes: Hashable {
    package var isExcludedFromBackup: Bool
    package var protection: FileProtection

    /// Nil where the store is not ours to change.
    package init?(_ configuration: Configuration) {
        guard !configuration.isReadOnly else { return nil }
        isExcludedFromBackup = configuration.isExcludedFromBackup
        protection = configuration.fileProtection
    }

    #if os(Linux)
    /// There are no such attributes here.
    func apply(to directory: String) throws {}
    #else
    /// Sets the attributes of the store's directory, which is made when it is missing: what comes into being in it has its class, and what
    /// is in it is in no backup when it isn't.
    func apply(to directory: String) throws {
        try POSIXFileSystem().createDirectory(directory)
        var url = URL(fileURLWithPath: directory, isDirectory: true)
        var values = URLResourceValues()
        values.isExcludedFromBackup = isExcludedFromBackup
        try url.setResourceValues(values)
        #if os(iOS) || os(tvOS) || os(visionOS)
        guard let type = protection.type else { return }
        // Those that are there already are given it one by one; data files of another class keep theirs.
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
    /// Foundation's name for it; nil to leave it as it is.
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
