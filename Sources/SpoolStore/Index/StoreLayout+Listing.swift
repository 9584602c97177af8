import SpoolCore
import SpoolSystem

// What lies in the store's directory under names that the store makes. Everything else is somebody else's: a directory of documents may
// have been given as a cache, and nothing of it is looked into, unlinked or removed. Symbolic links are not followed.

extension StoreLayout {
    /// A file of the store's, found by its name.
    struct FoundFile {
        var path: String
        var generation: GenerationID
    }

    /// Called with a directory that can't be listed, or a name that can't be looked at.
    typealias OnTrouble = (_ path: String, _ error: SystemError) -> Void

    /// The directories of groups, in the order of their names.
    func groups(on fileSystem: any FileSystem, onTrouble: OnTrouble) -> [String] {
        names(in: data, on: fileSystem, onTrouble).filter { Self.isGroup($0) }.map { "\(data)/\($0)" }
            .filter { status(of: $0, on: fileSystem, onTrouble)?.isDirectory ?? false }
    }

    /// The directories of resources in a group's directory.
    func directories(ofGroup group: String, on fileSystem: any FileSystem, onTrouble: OnTrouble) -> [String] {
        let name = String(group.suffix(2))
        return names(in: group, on: fileSystem, onTrouble).filter { Self.isDirectory($0, inGroup: name) }.map { "\(group)/\($0)" }
            .filter { status(of: $0, on: fileSystem, onTrouble)?.isDirectory ?? false }
    }

    /// The data files in a resource's directory.
    func dataFiles(in directory: String, on fileSystem: any FileSystem, onTrouble: OnTrouble) -> [FoundFile] {
        names(in: directory, on: fileSystem, onTrouble).compactMap { name in
            guard let generation = Self.generation(ofFile: name) else { return nil }
            let path = "\(directory)/\(name)"
            return status(of: path, on: fileSystem, onTrouble)?.isRegular ?? false ? FoundFile(path: path, generation: generation) : nil
        }
    }

    private func names(in directory: String, on fileSystem: any FileSystem, _ onTrouble: OnTrouble) -> [String] {
        do throws(SystemError) { return try fileSystem.list(directory) } catch {
            onTrouble(directory, error)
            return []
        }
    }

    private func status(of path: String, on fileSystem: any FileSystem, _ onTrouble: OnTrouble) -> FileStatus? {
        do throws(SystemError) { return try fileSystem.statusOfName(path) } catch {
            onTrouble(path, error)
            return nil
        }
    }
}
