import SpoolCore
import SpoolLibc
import SpoolSystem

/// The directory of another cache. It is only read, and its symbolic links are not followed.
struct ForeignDirectory {
    /// The most symbolic links that a report lists.
    private static let maximumListedLinks = 1000

    private let root: String
    private let limits: AdoptionLimits
    private let system = POSIXFileSystem()
    /// The sizes of the regular files, by their paths below the directory.
    private(set) var files: [String: Int64] = [:]
    private var links: [String] = []
    private var count = 0

    /// Lists a directory.
    ///
    /// - Throws: `.file` if it is missing or can't be read, or if it has too many files.
    init(_ root: String, limits: AdoptionLimits) throws(CacheError) {
        self.root = root
        self.limits = limits
        do throws(SystemError) {
            guard try system.status(root)?.isDirectory == true else { throw SystemError(code: ENOTDIR, operation: "list", subject: root) }
            try list("", depth: 0)
        } catch { throw CacheError(.file, "can't adopt \(root): \(error)", cause: error) }
        guard count <= limits.files else { throw failure("it has more than \(limits.files) files") }
    }

    private mutating func list(_ prefix: String, depth: Int) throws(SystemError) {
        for name in try system.list(root + "/" + prefix).sorted() where name != "." && name != ".." {
            count += 1
            guard count <= limits.files else { return }
            let path = prefix + name
            guard let status = try system.statusOfName(root + "/" + path) else { continue }
            if status.isRegular {
                files[path] = status.size
            } else if status.isDirectory {
                if depth < limits.directoryDepth { try list(path + "/", depth: depth + 1) }
            } else if links.count < Self.maximumListedLinks {
                links.append(path)
            }
        }
    }

    /// The path of a file for the system.
    func path(_ file: String) -> String { root + "/" + file }

    /// Reads the indexes and the mapping file.
    ///
    /// - Throws: `.file` if there is no index and no mapping file, or if one is damaged.
    func store(mappingFile: String?) throws(CacheError) -> ForeignStore {
        let map = try map(mappingFile)
        var store: ForeignStore
        if let indexed = try indexed(map) { store = indexed } else { store = try named(map) }
        store.refusals += links.map { ForeignRefusal(name: $0, reason: "it is a link or a special file, which is not followed") }
        return store
    }

    private func map(_ given: String?) throws(CacheError) -> AdoptionMap {
        guard let path = given ?? (files[AdoptionMap.fileName] != nil ? path(AdoptionMap.fileName) : nil) else { return AdoptionMap() }
        let bytes = try read(path)
        do throws(ParseError) { return try AdoptionMap(bytes, limits: limits) } catch {
            throw failure("the mapping file \(path) is not of the form of 'spool adopt --help': \(error)")
        }
    }

    /// The store by its indexes, if it has one.
    private func indexed(_ map: AdoptionMap) throws(CacheError) -> ForeignStore? {
        for prefix in ["", KTVHTTPCacheStore.directoryName + "/"] {
            let archive = prefix + KTVHTTPCacheStore.archiveName
            guard files[archive] != nil else { continue }
            let bytes = try read(path(archive))
            do throws(ParseError) {
                return try KTVHTTPCacheStore.read(bytes, prefix: prefix, files: files, limits: limits)
            } catch { throw failure("its index \(archive) is damaged: \(error); nothing was changed") }
        }
        if let store = try store(
            .viMediaCache, VIMediaCacheStore.indexExtension,
            { bytes, path throws(ForeignRefusal) in
                try VIMediaCacheStore.read(bytes, path: path, map: map, files: files, limits: limits)
            })
        {
            return store
        }
        return try store(.gsPlayer, GSPlayerStore.indexExtension) { bytes, path throws(ForeignRefusal) in
            try GSPlayerStore.read(bytes, path: path, map: map, files: files, limits: limits)
        }
    }

    private func store(
        _ format: AdoptionReport.Format, _ suffix: String, _ read: ([UInt8], String) throws(ForeignRefusal) -> ForeignResource
    ) throws(CacheError) -> ForeignStore? {
        let indexes = files.keys.filter { $0.hasSuffix(suffix) }.sorted()
        guard !indexes.isEmpty else { return nil }
        var store = ForeignStore(format)
        for index in indexes {
            let bytes = try self.read(path(index))
            do throws(ForeignRefusal) { store.resources.append(try read(bytes, index)) } catch { store.refusals.append(error) }
        }
        return store
    }

    private func named(_ map: AdoptionMap) throws(CacheError) -> ForeignStore {
        guard !map.entries.isEmpty else {
            throw failure("it has no index of KTVHTTPCache, VIMediaCache or GSPlayer; name its files in a mapping file")
        }
        var store = map.store(files: files)
        let taken = Set(map.entries.map(\.path))
        for path in files.keys.sorted() where !taken.contains(path) && path != AdoptionMap.fileName {
            store.refusals.append(ForeignRefusal(name: path, reason: "the mapping file does not name it"))
        }
        return store
    }

    /// Reads a whole file, with one byte more than the limit at most.
    private func read(_ path: String) throws(CacheError) -> [UInt8] {
        do throws(SystemError) {
            if let status = try system.status(path), !status.isRegular { throw SystemError.isNoFile(path, status, "open") }
            let file = try system.open(path, .read)
            return try file.bytes(0, Int(min(try file.status().size, Int64(limits.archiveBytes) + 1)))
        } catch { throw CacheError(.file, "can't adopt \(root): \(error)", cause: error) }
    }

    private func failure(_ reason: String) -> CacheError { CacheError(.file, "can't adopt \(root): \(reason)") }
}
