import Spool
import SpoolCore
import SpoolLibc
import SpoolStore
import SpoolSystem

/// The checks of the directory of the store: rights, file system, room, and the store itself.
struct StoreCheck {
    let settings: CacheSettings
    let directory: String
    private let files = POSIXFileSystem()

    /// The bytes of free space below which a warning is due, beyond those that `--min-free` leaves
    /// to others: one film.
    private static let comfortableBytes: Int64 = 2 << 30
    /// The largest difference between the clocks of this machine and of a file server.
    private static let clockSkewSeconds: Int64 = 60

    func findings() async -> [Finding] {
        guard let place = existingPlace else {
            return [.problem("directory", "\(directory) can't be made", advice: "give another directory with --cache DIR")]
        }
        return [rights(place)] + fileSystem(place) + [room(place), await store()].compactMap(\.self)
    }

    /// The directory, or the nearest one above it that exists.
    private var existingPlace: String? {
        var path = directory
        while true {
            if let status = try? files.status(path) { return status.isDirectory ? path : nil }
            guard let parent = parentDirectory(of: path), parent != path else { return nil }
            path = parent
        }
    }

    private func rights(_ place: String) -> Finding {
        guard access(place, W_OK | X_OK) == 0 else {
            return .problem(
                "directory", "this user (\(getuid())) can't write to \(place)", advice: "give it to this user, or use --cache DIR")
        }
        if place != directory { return .ok("directory", "\(directory) is made when it is needed") }
        guard !RunningServer.isOpenToOthers(directory) else {
            return .warning("directory", "other users can write to \(directory)", advice: "run 'chmod go-w \(directory)'")
        }
        return .ok("directory", directory)
    }

    // MARK: File system

    private func fileSystem(_ place: String) -> [Finding] {
        let path = "\(place)/.spool-doctor-\(ProcessIdentity.processID)"
        defer { unlink(path) }
        do {
            let file = try files.createPrivate(path)
            let holes = try holes(file)
            if try !file.lock(.exclusive) { throw SystemError(code: ENOLCK, operation: "flock", subject: path) }
            try file.synchronize(full: false)
            return [holes, try clock(file)]
        } catch {
            return [
                .problem(
                    "file system", "a file in \(place) can't be used: \(error)", advice: "use a directory of a local disk with --cache DIR")
            ]
        }
    }

    /// Spool stores a range at its offset in a sparse file, and evicts by punching holes.
    private func holes(_ file: any FileHandle) throws(SystemError) -> Finding {
        let (length, block) = (Int64(4 << 20), Int64(1 << 16))
        try file.write([UInt8](repeating: 1, count: Int(block)), at: length - block)
        let isSparse = try file.status().allocatedBytes < length / 2
        var canPunch = true
        do throws(SystemError) { try file.punchHole(at: length - block, count: block) } catch {
            guard error.code == ENOTSUP || error.code == EOPNOTSUPP else { throw error }
            canPunch = false
        }
        guard isSparse && canPunch else {
            let missing = isSparse ? "can't free a part of a file" : "has no sparse files"
            return .warning(
                "file system", "the disk of the store \(missing)",
                advice: "use ext4, XFS, Btrfs, ZFS or APFS, so that room is not wasted")
        }
        return .ok("file system", "sparse files, holes and locks work")
    }

    private func clock(_ file: any FileHandle) throws(SystemError) -> Finding {
        let now = SystemTime().wallNow
        // The release of this program is younger than that.
        guard now.seconds > 1_735_689_600 else {
            return .problem(
                "clock", "the clock says \(now.iso8601)", advice: "set it (timedatectl): certificates and freshness depend on it")
        }
        let skew = abs(try file.status().modified.seconds - now.seconds)
        guard skew <= Self.clockSkewSeconds else {
            return .warning(
                "clock", "the file system's clock is \(skew) s away from this machine's", advice: "synchronise both clocks (NTP)")
        }
        return .ok("clock", now.iso8601)
    }

    // MARK: Room

    private func room(_ place: String) -> Finding? {
        let limits: StorageLimits, free: Int64
        do {
            limits = try settings.limits(in: directory)
            guard let bytes = try files.freeBytes(place) else { return nil }
            free = bytes
        } catch {
            return .problem("disk space", "\(error)", advice: "correct the limits with 'spool limits'")
        }
        let kept = limits.minimumFreeBytes ?? 0
        let text = "\(ByteCount.text(free)) are free"
        if free <= kept {
            return .problem(
                "disk space", "\(text), and --min-free leaves \(ByteCount.text(kept)) to others: nothing more is stored",
                advice: "free some space, move the store with --cache, or lower --min-free")
        }
        if free < kept + Self.comfortableBytes {
            return .warning("disk space", text, advice: "free some space, or move the store with --cache: a film may not fit")
        }
        let quota = limits.quotaBytes.map { "the quota is \(ByteCount.text($0))" } ?? "there is no quota"
        return .ok("disk space", "\(text); \(quota)")
    }

    // MARK: The store

    /// Returns a warning about media that the present key does not seal, or nil.
    private func unfinishedRotation(_ cache: MediaCache) async throws -> Finding? {
        guard let rotation = (cache.store as? SQLiteStore)?.rotation else { return nil }
        let left = try await cache.onIndexLane { () throws(StoreError) in try rotation.backlog() }
        guard left.resources > 0 else { return nil }
        let state = rotation.hasPlainFiles ? "are not encrypted yet" : "have the key before the present one"
        return .warning("store", "\(ByteCount.text(left.bytes)) \(state)", advice: "run 'spool rekey' with the present key as the new key")
    }

    private func store() async -> Finding {
        do {
            guard let cache = try settings.openToLook() else { return .ok("store", "there is none yet; the first fetch makes it") }
            return try await cache.closing {
                if let warning = try await unfinishedRotation(cache) { return warning }
                let (count, bytes) = (try await cache.count(), try await cache.totalSizeBytes())
                return .ok("store", "\(count.counted("resource")), \(ByteCount.text(bytes))")
            }
        } catch {
            let (_, message) = ExitCode.of(error)
            return .problem("store", message ?? "\(error)", advice: "'spool verify' looks for damage; see the message for anything else")
        }
    }
}
