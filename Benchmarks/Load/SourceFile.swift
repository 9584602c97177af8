import SpoolLibc

/// A file that origins serve, mapped to compare received bytes with it.
///
/// The bytes are random but the same in every run. Regions that are not filled are holes and read
/// as zeros.
final class SourceFile {
    /// The last component of the file's path, which is also its path at the origin.
    let name: String
    let size: Int64
    private let base: UnsafeMutableRawPointer

    /// Makes a file of `size` bytes in `directory`. `filled` lists the regions with bytes, in
    /// multiples of 8.
    init(name: String, directory: String, size: Int64, filled: [Range<Int64>], seed: UInt64) throws {
        let path = directory + "/" + name
        let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw BenchmarkError.system("open \(path)") }
        defer { close(descriptor) }
        guard ftruncate(descriptor, off_t(size)) == 0 else { throw BenchmarkError.system("ftruncate \(path)") }
        var random = SplitMix(seed: seed)
        for region in filled {
            try Self.fill(descriptor, region, &random)
        }
        // Otherwise the dirty pages would be written back during the first rounds.
        guard fdatasync(descriptor) == 0 else { throw BenchmarkError.system("fdatasync \(path)") }
        guard let mapped = mmap(nil, Int(size), PROT_READ, MAP_SHARED, descriptor, 0), mapped != MAP_FAILED else {
            throw BenchmarkError.system("mmap \(path)")
        }
        self.name = name
        self.size = size
        base = mapped
    }

    deinit {
        munmap(base, Int(size))
    }

    private static func fill(_ descriptor: Int32, _ region: Range<Int64>, _ random: inout SplitMix) throws {
        let capacity = 1 << 20
        let words = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: capacity / 8)
        defer { words.deallocate() }
        var offset = region.lowerBound
        while offset < region.upperBound {
            for index in words.indices { words[index] = random.next() }
            let count = Swift.min(capacity, Int(region.upperBound - offset))
            guard pwrite(descriptor, words.baseAddress, count, off_t(offset)) == count else { throw BenchmarkError.system("pwrite") }
            offset += Int64(count)
        }
    }

    /// Whether `count` bytes at `pointer` are those of the file at `offset`.
    func matches(_ pointer: UnsafeRawPointer, count: Int, at offset: Int64) -> Bool {
        offset >= 0 && offset + Int64(count) <= size && memcmp(base + Int(offset), pointer, count) == 0
    }
}
