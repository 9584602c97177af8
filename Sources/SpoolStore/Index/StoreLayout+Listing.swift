import SpoolCore
import SpoolSystem

// Lists the files in the store's directory that have a name of the store's own form. Other files
// are never opened, unlinked or removed, because a user may have named a directory of documents as
// the cache. The listing does not follow symbolic links.

extension StoreLayout {
    /// A file of the store, found by its name.
    struct FoundFile {
        var path: String
        var generation: GenerationID
    }

    /// The callback for a directory that can't be listed, or a name whose status can't be read.
    typealias OnTrouble = (_ path: String, _ error: SystemError) -> Void

    /// Returns the directories of groups, in the order of their names.
    func groups(on fileSystem: any FileSystem, onTrouble: OnTrouble) -> [String] {
        names(in: data, on: fileSystem, onTrouble).filter { Self.isGroup($0) }.map { "\(data)/\($0)" }
            .filter { status(of: $0, on: fileSystem, onTrouble)?.isDirectory == true }
    }

    /// Returns the directories of resources in a group's directory.
    func directories(ofGroup group: String, on fileSystem: any FileSystem, onTrouble: OnTrouble) -> [String] {
        let name = String(group.suffix(2))
        return names(in: group, on: fileSystem, onTrouble).filter { Self.isDirectory($0, inGroup: name) }.map { "\(group)/\($0)" }
            .filter { status(of: $0, on: fileSystem, onTrouble)?.isDirectory == true }
    }

    /// Returns the data files in a resource's directory.
    func dataFiles(in directory: String, on fileSystem: any FileSystem, onTrouble: OnTrouble) -> [FoundFile] {
        names(in: directory, on: fileSystem, onTrouble).compactMap { name in
            guard let generation = Self.generation(ofFile: name) else { return nil }
            let path = "\(directory)/\(name)"
            return status(of: path, on: fileSystem, onTrouble)?.isRegular == true ? FoundFile(path: path, generation: generation) : nil
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
