public import SpoolCore
import SpoolStore
import SpoolSystem

/// Changes the origin's bytes on their way from the store to a reader, say to decrypt what the origin encrypted.
///
/// What is stored stays as the origin sent it, so encrypted media are encrypted at rest, too. Each byte comes out at the offset at which it
/// went in, and the length stays: that is what makes seeks work. A stream cipher with a seekable key stream (AES in counter mode) is such a
/// transform; one that authenticates whole messages is not.
///
/// ```swift
/// struct Unveil: ContentTransform {
///     func transform(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64, of key: ResourceKey) throws {
///         for index in bytes.indices { bytes[index] ^= mask[Int((offset + Int64(index)) % Int64(mask.count))] }
///     }
/// }
/// ```
///
/// `ContentTransformContract` of `SpoolTesting` tries an implementation.
public protocol ContentTransform: Sendable {
    /// Changes `bytes`, which are those of the resource from `offset` on, where they are.
    ///
    /// Called from any thread, by several at once, for any part in any order, for some parts more than once: the same bytes at the same
    /// offset give the same result, however a range is cut. Often 64 KiB to 1 MiB at a time.
    /// - Throws: whatever prevents it. The reader then fails with `.transform`, and nobody gets the bytes.
    func transform(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64, of key: ResourceKey) throws
}

/// Bytes of one step of a reader, changed as they are read.
///
/// Memory of a running fetch is one more thing to read from, so that doors have one way for both.
final class TransformedBytes: StoredBytes, @unchecked Sendable {
    // Safe to share: `Source.memory` points to bytes that never change while `keepAlive` lives; everything else is `Sendable`.
    enum Source {
        case file(any StoredBytes)
        case memory(UnsafeRawBufferPointer, start: Int64, keepAlive: AnyObject)
    }

    private let source: Source
    private let transform: any ContentTransform
    private let key: ResourceKey
    private let failure: Locked<CacheError?>

    /// - Parameter failure: where a failure of the transform is noted; the reader looks there.
    init(_ source: Source, _ transform: any ContentTransform, key: ResourceKey, failure: Locked<CacheError?>) {
        self.source = source
        self.transform = transform
        self.key = key
        self.failure = failure
    }

    var descriptor: OpenDescriptor? { nil }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StoreError) -> Int {
        let count = try readUnchanged(into: buffer, at: offset)
        let bytes = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
        do {
            if count > 0 { try transform.transform(bytes, at: offset, of: key) }
            return count
        } catch {
            // Neither the origin's bytes nor half-changed ones are for the reader's eyes.
            bytes.initializeMemory(as: UInt8.self, repeating: 0)
            failure.withLock {
                $0 = CacheError(.transform, "the content transform failed at offset \(offset): \(error)", key: key, cause: error)
            }
            throw .transformFailed
        }
    }

    private func readUnchanged(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StoreError) -> Int {
        switch source {
        case .file(let file): return try file.read(into: buffer, at: offset)
        case .memory(let bytes, let start, let keepAlive):
            let part = bytes[Int(offset - start)...].prefix(buffer.count)
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: part))
            withExtendedLifetime(keepAlive) {}
            return part.count
        }
    }
}
