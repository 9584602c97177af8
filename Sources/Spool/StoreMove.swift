import SpoolStore
package import SpoolSystem

/// Moves a store to another directory, once, with all that it holds.
package struct StoreMove {
    private let old: String
    private let new: String
    private let fileSystem: any FileSystem

    /// Creates the move of a store from `old` to `new`.
    package init(old: String, new: String, fileSystem: any FileSystem) {
        self.old = old
        self.new = new
        self.fileSystem = fileSystem
    }

    /// The result of a move.
    package enum Outcome: Hashable {
        case moved
        /// There is no store to move.
        case absent
        /// The new directory exists already.
        case done
        /// Another process has the store open.
        case inUse
        /// The old directory has files that are none of a store, such as those of a server.
        case foreign
    }

    /// Moves the store under its lock. The lock moves with it, so a process that opens the old
    /// directory at this moment gets an empty one, or waits for the lock of the new one.
    package func perform() throws(SystemError) -> Outcome {
        let layout = StoreLayout(root: old)
        guard try fileSystem.status(new) == nil else { return .done }
        guard try fileSystem.status(layout.lock) != nil else { return .absent }
        guard try fileSystem.list(old).allSatisfy({ Self.isOfStore("\(old)/\($0)", layout) }) else { return .foreign }
        let lock = try fileSystem.open(layout.lock, .readWrite)
        guard try lock.lock(.exclusive) else { return .inUse }
        let parent = parentDirectory(of: new) ?? "/"
        do throws(SystemError) {
            try fileSystem.createDirectory(parent)
            try fileSystem.rename(old, to: new)
            try fileSystem.synchronizeDirectory(parent)
        } catch {
            _ = try lock.lock(.none)
            throw error
        }
        _ = try lock.lock(.none)
        return .moved
    }

    /// Returns the directory to open: the old one while its store cannot be moved, so that the
    /// program does not begin with an empty one.
    package func directory(onTrouble: (SystemError) -> Void) -> String {
        do throws(SystemError) {
            switch try perform() {
            case .moved, .absent, .done, .foreign: return new
            case .inUse: return old
            }
        } catch {
            onTrouble(error)
            return old
        }
    }

    private static func isOfStore(_ path: String, _ layout: StoreLayout) -> Bool {
        path == layout.lock || path == layout.reserve || path == layout.data || path.hasPrefix(layout.index)
    }
}
