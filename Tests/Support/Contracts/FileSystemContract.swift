import SpoolLibc
package import SpoolSystem
package import SpoolTesting

/// The rules of a file system that the store relies on. Every implementation passes them.
package enum FileSystemContract {
    /// Tries `disk` in `root`, an existing and empty directory.
    ///
    /// - Returns: The violations, in the order of the rules.
    package static func violations(of disk: any FileSystem, in root: String, seed: UInt64) -> [ContractViolation] {
        var check = FileSystemTrial()
        for (index, rule) in Rule.allCases.enumerated() {
            let directory = "\(root)/rule-\(index)"
            check.rule = rule.rawValue
            check.succeeds("make a directory for the rule") { () throws(SystemError) in try disk.createDirectory(directory) }
            do throws(SystemError) {
                try attempt(rule, on: disk, in: directory, SeededRandom(seed: seed), &check)
            } catch {
                check.fail("threw \(error)")
            }
        }
        return check.violations
    }

    /// The rules, in the order in which they are tried.
    ///
    /// They are an enum and not a table of closures, because before iOS 18 the runtime has no
    /// metadata for function types with typed throws.
    private enum Rule: String, CaseIterable {
        case open, readAndWrite = "read and write", truncate, sparse, punch
        case unlink, rename, directories, locks, durability
        case againstModel = "against a model"
    }

    private static func attempt(
        _ rule: Rule, on disk: any FileSystem, in root: String, _ random: SeededRandom, _ check: inout FileSystemTrial
    ) throws(SystemError) {
        switch rule {
        case .open: try open(disk, root, random, &check)
        case .readAndWrite: try readAndWrite(disk, root, random, &check)
        case .truncate: try truncate(disk, root, random, &check)
        case .sparse: try sparse(disk, root, random, &check)
        case .punch: try punch(disk, root, random, &check)
        case .unlink: try unlink(disk, root, random, &check)
        case .rename: try rename(disk, root, random, &check)
        case .directories: try directories(disk, root, random, &check)
        case .locks: try locks(disk, root, random, &check)
        case .durability: try durability(disk, root, random, &check)
        case .againstModel: try againstModel(disk, root, random, &check)
        }
    }

    // MARK: Files

    private static func open(_ disk: any FileSystem, _ root: String, _: SeededRandom, _ check: inout FileSystemTrial) throws(SystemError) {
        let path = "\(root)/file"
        check.fails(ENOENT, "open a missing file for reading") { () throws(SystemError) in _ = try disk.open(path, .read) }
        check.fails(ENOENT, "open a missing file for writing") { () throws(SystemError) in _ = try disk.open(path, .readWrite) }
        check.fails(ENOENT, "create a file in a missing directory") { () throws(SystemError) in
            _ = try disk.open("\(root)/none/file", .create)
        }
        check.fails(EISDIR, "open a directory") { () throws(SystemError) in _ = try disk.open(root, .read) }
        try disk.open(path, .create).write([1, 2, 3], at: 0)
        check.equal(try disk.open(path, .create).bytes(0, 9), [1, 2, 3], "creating an existing file leaves its bytes")
        let reading = try disk.open(path, .read)
        check.fails(nil, "write through a handle for reading") { () throws(SystemError) in try reading.write([9], at: 0) }
        check.fails(nil, "truncate through a handle for reading") { () throws(SystemError) in try reading.truncate(to: 0) }
        check.equal(try reading.bytes(0, 9), [1, 2, 3], "nothing was written")
        check.fails(ENOTDIR, "open a file below a file") { () throws(SystemError) in _ = try disk.open("\(path)/x", .read) }
    }

    private static func readAndWrite(
        _ disk: any FileSystem, _ root: String, _: SeededRandom, _ check: inout FileSystemTrial
    ) throws(SystemError) {
        let file = try disk.open("\(root)/file", .create)
        check.equal(try file.bytes(0, 4), [], "an empty file has no bytes")
        try file.write([], at: 100)
        check.equal(try file.status().size, 0, "writing nothing does not grow the file")
        try file.write([1, 2, 3, 4], at: 10_000)
        check.equal(try file.status().size, 10_004, "the size reaches to the end of the last write")
        check.equal(try file.bytes(9998, 9), [0, 0, 1, 2, 3, 4], "what was skipped reads as zeros, and a read ends with the file")
        check.equal(try file.bytes(10_004, 1), [], "there is nothing behind the end")
        check.equal(try file.bytes(1 << 40, 1), [], "there is nothing far behind the end")
        try file.write([7, 8], at: 10_001)
        check.equal(try disk.open("\(root)/file", .read).bytes(10_000, 4), [1, 7, 8, 4], "another handle sees what was written")
    }

    private static func truncate(_ disk: any FileSystem, _ root: String, _: SeededRandom, _ check: inout FileSystemTrial)
        throws(SystemError)
    {
        let file = try disk.open("\(root)/file", .create)
        try file.write([UInt8](repeating: 5, count: 6000), at: 0)
        try file.truncate(to: 5000)
        try file.truncate(to: 9000)
        check.equal(try file.status().size, 9000, "truncating sets the size")
        check.equal(try file.bytes(4999, 2), [5, 0], "what was cut off reads as zeros when the file grows again")
        check.fails(EINVAL, "truncate to a negative size") { () throws(SystemError) in try file.truncate(to: -1) }
    }

    private static func sparse(_ disk: any FileSystem, _ root: String, _: SeededRandom, _ check: inout FileSystemTrial) throws(SystemError)
    {
        let file = try disk.open("\(root)/file", .create)
        let size: Int64 = 20 << 30
        try file.truncate(to: size)
        check.isTrue(try file.status().allocatedBytes <= 65_536, "a file that is a hole takes (almost) nothing")
        try file.write([UInt8](repeating: 1, count: 1 << 20), at: size / 2)
        file.startWriteback()
        try file.synchronize(full: false)
        let allocated = try file.status().allocatedBytes
        check.isTrue(1 << 20...2 << 20 ~= allocated, "a MiB in it takes a MiB, not \(allocated) bytes")
        check.equal(try file.bytes(size / 2 - 1, 2), [0, 1], "the bytes are where they were written")
        check.equal(try disk.status("\(root)/file"), try file.status(), "path and handle have one status")
    }

    private static func punch(_ disk: any FileSystem, _ root: String, _: SeededRandom, _ check: inout FileSystemTrial) throws(SystemError) {
        let file = try disk.open("\(root)/file", .create)
        try file.write([UInt8](repeating: 3, count: 4 * 65_536), at: 0)
        try file.synchronize(full: false)
        let before = try file.status()
        do throws(SystemError) {
            try file.punchHole(at: 65_536, count: 65_536)
        } catch {
            // A file system may have no holes, but then it throws this errno.
            check.equal(error.code, ENOTSUP, "the errno of a punch where there are no holes")
            return
        }
        try file.synchronize(full: false)
        let after = try file.status()
        check.equal(after.size, before.size, "a punch leaves the size")
        check.equal(before.allocatedBytes - after.allocatedBytes, 65_536, "a punch gives the blocks back")
        check.equal(try file.bytes(65_535, 2), [3, 0], "the hole begins where it should")
        check.equal(try file.bytes(2 * 65_536 - 1, 2), [0, 3], "the hole ends where it should")
        try file.punchHole(at: 65_536, count: 65_536)
        try file.punchHole(at: 1 << 30, count: 65_536)
        check.equal(try file.status().size, before.size, "punching a hole, or behind the end, changes nothing")
    }

    private static func unlink(_ disk: any FileSystem, _ root: String, _: SeededRandom, _ check: inout FileSystemTrial) throws(SystemError)
    {
        let path = "\(root)/file"
        let file = try disk.open(path, .create)
        try file.write([1], at: 0)
        try disk.unlink(path)
        check.equal(try disk.status(path), nil, "an unlinked file is gone")
        try file.write([2], at: 1)
        check.equal(try file.bytes(0, 9), [1, 2], "its handle goes on reading and writing")
        let other = try disk.open(path, .create)
        check.equal(try other.bytes(0, 9), [], "a new file of that name is another file")
        check.equal(try file.bytes(0, 9), [1, 2], "and the old one stays what it was")
        check.fails(ENOENT, "unlink a missing file") { () throws(SystemError) in try disk.unlink("\(root)/none") }
        check.fails(nil, "unlink a directory") { () throws(SystemError) in try disk.unlink(root) }
    }

    private static func rename(_ disk: any FileSystem, _ root: String, _: SeededRandom, _ check: inout FileSystemTrial) throws(SystemError)
    {
        let old = try disk.open("\(root)/old", .create)
        try old.write([1], at: 0)
        try disk.open("\(root)/new", .create).write([2], at: 0)
        try disk.rename("\(root)/new", to: "\(root)/old")
        check.equal(try disk.list(root), ["old"], "a rename replaces what was there")
        check.equal(try disk.open("\(root)/old", .read).bytes(0, 9), [2], "under the name is what was renamed")
        check.equal(try old.bytes(0, 9), [1], "a handle of the replaced file goes on reading it")
        try disk.rename("\(root)/old", to: "\(root)/old")
        check.equal(try disk.list(root), ["old"], "a rename to itself changes nothing")
        check.fails(ENOENT, "rename a missing file") { () throws(SystemError) in try disk.rename("\(root)/none", to: "\(root)/x") }
        try disk.createDirectory("\(root)/a/b")
        check.fails(EISDIR, "rename a file over a directory") { () throws(SystemError) in
            try disk.rename("\(root)/old", to: "\(root)/a")
        }
        check.fails(EINVAL, "rename a directory into itself") { () throws(SystemError) in
            try disk.rename("\(root)/a", to: "\(root)/a/b/c")
        }
        try disk.rename("\(root)/old", to: "\(root)/a/b/moved")
        check.equal(try disk.list("\(root)/a/b"), ["moved"], "a rename moves between directories")
    }

    // MARK: Directories

    private static func directories(
        _ disk: any FileSystem, _ root: String, _: SeededRandom, _ check: inout FileSystemTrial
    ) throws(SystemError) {
        try disk.createDirectory("\(root)/a/b/c")
        try disk.createDirectory("\(root)/a/b/c")
        check.equal(try disk.status("\(root)/a/b")?.isDirectory, true, "directories above are made as well")
        for name in ["z", "M", "a.mp4", "10", "9"] { _ = try disk.open("\(root)/a/b/\(name)", .create) }
        check.equal(try disk.list("\(root)/a/b"), ["10", "9", "M", "a.mp4", "c", "z"], "a list is sorted and has directories in it")
        check.equal(try disk.status("\(root)/a/b/z")?.isDirectory, false, "a file is no directory")
        check.equal(try disk.status("\(root)/a/b/z/below"), nil, "there is nothing below a file")
        check.fails(EEXIST, "make a directory where a file is") { () throws(SystemError) in
            try disk.createDirectory("\(root)/a/b/z")
        }
        check.fails(ENOTDIR, "make a directory below a file") { () throws(SystemError) in
            try disk.createDirectory("\(root)/a/b/z/below")
        }
        check.fails(ENOTEMPTY, "remove a directory with files in it") { () throws(SystemError) in
            try disk.removeDirectory("\(root)/a/b")
        }
        try disk.removeDirectory("\(root)/a/b/c")
        check.equal(try disk.status("\(root)/a/b/c"), nil, "a removed directory is gone")
        check.fails(ENOENT, "list a missing directory") { () throws(SystemError) in _ = try disk.list("\(root)/a/b/c") }
        check.fails(ENOTDIR, "list a file") { () throws(SystemError) in _ = try disk.list("\(root)/a/b/z") }
        check.fails(ENOENT, "remove a missing directory") { () throws(SystemError) in try disk.removeDirectory("\(root)/none") }
        if let free = try disk.freeBytes(root) { check.isTrue(free >= 0, "free space is not negative") }
    }

    // MARK: Locks and durability

    private static func locks(_ disk: any FileSystem, _ root: String, _: SeededRandom, _ check: inout FileSystemTrial) throws(SystemError) {
        let path = "\(root)/lock"
        let first = try disk.open(path, .create)
        let second = try disk.open(path, .readWrite)
        check.isTrue(try first.lock(.exclusive), "a free file is locked")
        check.isTrue(try first.lock(.exclusive), "a holder may ask again for what it has")
        check.isTrue(try !second.lock(.exclusive), "an exclusive lock keeps exclusive ones out")
        check.isTrue(try !second.lock(.shared), "an exclusive lock keeps shared ones out")
        check.isTrue(try first.lock(.none), "unlocking succeeds")
        check.isTrue(try second.lock(.shared), "an unlocked file is locked by another handle")
        check.isTrue(try first.lock(.shared), "shared locks go together")
        check.isTrue(try !first.lock(.exclusive), "a shared lock keeps exclusive ones out")
        check.isTrue(try first.lock(.shared), "after a vain attempt the shared lock is to be had again")
        check.isTrue(try second.lock(.none), "unlocking succeeds")
        check.isTrue(try first.lock(.exclusive), "the last sharer may turn its lock into an exclusive one")
        check.isTrue(try first.lock(.none), "unlocking succeeds")
        do {
            let third = try disk.open(path, .read)
            check.isTrue(try third.lock(.exclusive), "a handle for reading may lock")
        }
        check.isTrue(try second.lock(.exclusive), "a lock goes with its handle")
    }

    private static func durability(
        _ disk: any FileSystem, _ root: String, _: SeededRandom, _ check: inout FileSystemTrial
    ) throws(SystemError) {
        let file = try disk.open("\(root)/file", .create)
        try file.write([1], at: 0)
        try file.synchronize(full: false)
        try file.synchronize(full: true)
        try disk.synchronizeDirectory(root)
        check.equal(try file.bytes(0, 9), [1], "a sync changes nothing that is read")
        check.fails(ENOENT, "sync a missing directory") { () throws(SystemError) in try disk.synchronizeDirectory("\(root)/none") }
    }

    // MARK: Model

    /// Compares random writes, truncations and punches of whole blocks with an array.
    private static func againstModel(
        _ disk: any FileSystem, _ root: String, _ random: SeededRandom, _ check: inout FileSystemTrial
    ) throws(SystemError) {
        let block = 16_384
        let file = try disk.open("\(root)/file", .create)
        var model: [UInt8] = []
        for round in 0..<200 {
            let offset = Int(random.next(below: 100_000))
            switch random.next(below: 8) {
            case 0:
                try file.truncate(to: Int64(offset))
                model = Array((model + [UInt8](repeating: 0, count: 100_000)).prefix(offset))
            case 1:
                let first = offset / block * block
                do throws(SystemError) {
                    try file.punchHole(at: Int64(first), count: Int64(block))
                } catch {
                    guard error.code == ENOTSUP else { throw error }
                    continue
                }
                for index in first..<max(first, min(first + block, model.count)) { model[index] = 0 }
            default:
                let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: random.next()), count: Int(random.next(below: 20_000)))
                try file.write(bytes, at: Int64(offset))
                guard !bytes.isEmpty else { continue }
                if model.count < offset + bytes.count {
                    model += [UInt8](repeating: 0, count: offset + bytes.count - model.count)
                }
                model.replaceSubrange(offset..<offset + bytes.count, with: bytes)
            }
            guard try file.bytes(0, 200_000) == model else {
                check.fail("round \(round) of seed-driven changes differs")
                return
            }
        }
    }
}
