import SpoolCore
import SpoolSystem

/// Lists the files in the store's directory that have a name of the store's own form. Other files
/// are never opened, unlinked or removed, because a user may have named a directory of documents as
/// the cache. The listing does not follow symbolic links.
///
/// It reports a directory that can't be listed, and a name whose status can't be read. Their files
/// stay.
struct StoreListing {
    /// A file of the store, found by its name.
    struct FoundFile {
        var path: String
        var generation: GenerationID
    }

    let layout: StoreLayout
    let fileSystem: any FileSystem
    let options: SQLiteStore.Options

    /// The directories of groups, in the order of their names.
    var groups: [String] { names(in: layout.data).filter(StoreLayout.isGroup).map { "\(layout.data)/\($0)" }.filter(isDirectory) }

    /// The directories of all resources, listed one group at a time.
    var directories: some Sequence<String> { groups.lazy.flatMap(directories(ofGroup:)) }

    /// Returns the directories of resources in a group's directory.
    func directories(ofGroup group: String) -> [String] {
        let name = String(group.suffix(2))
        return names(in: group).filter { StoreLayout.isDirectory($0, inGroup: name) }.map { "\(group)/\($0)" }.filter(isDirectory)
    }

    /// Returns the data files in a resource's directory.
    func dataFiles(in directory: String) -> [FoundFile] {
        names(in: directory).compactMap { name in
            guard let generation = StoreLayout.generation(ofFile: name) else { return nil }
            let path = "\(directory)/\(name)"
            return status(of: path)?.isRegular == true ? FoundFile(path: path, generation: generation) : nil
        }
    }

    private func names(in directory: String) -> [String] {
        do throws(SystemError) { return try fileSystem.list(directory) } catch {
            options.noteLeftBehind(directory, error)
            return []
        }
    }

    private func isDirectory(_ path: String) -> Bool { status(of: path)?.isDirectory == true }

    private func status(of path: String) -> FileStatus? {
        do throws(SystemError) { return try fileSystem.statusOfName(path) } catch {
            options.noteLeftBehind(path, error)
            return nil
        }
    }
}

extension SQLiteStore.Options {
    /// Reports a file or directory that stays although the store does not need it, unless it is
    /// gone.
    func noteLeftBehind(_ path: String, _ error: SystemError) {
        if !error.meansMissing { onRecovery(.fileLeftBehind(path: path, error)) }
    }
}
