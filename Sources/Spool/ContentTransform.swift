public import SpoolCore
import SpoolStore
import SpoolSystem

/// Changes the bytes of an origin on their way from the store to a reader, for example to decrypt
/// them.
///
/// The store keeps the bytes as the origin sent them, so encrypted media stays encrypted on disk.
/// Each byte keeps its offset, and the length stays the same, so that seeking works. A stream
/// cipher with a seekable key stream (AES in counter mode) can be such a transform. A cipher that
/// authenticates whole messages can't.
///
/// ```swift
/// struct Unveil: ContentTransform {
///     let mask: [UInt8]
///
///     func transform(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64, of key: ResourceKey) throws {
///         for index in bytes.indices { bytes[index] ^= mask[Int((offset + Int64(index)) % Int64(mask.count))] }
///     }
/// }
/// ```
///
/// `ContentTransformContract` of `SpoolTesting` checks an implementation.
public protocol ContentTransform: Sendable {
    /// Changes `bytes` in place.
    ///
    /// The cache calls this method on any thread, from several threads at once, for any part in any
    /// order, and for some parts more than once. The same bytes at the same offset must give the
    /// same result, however a range is divided. Calls often have 64 KiB to 1 MiB.
    ///
    /// - Parameters:
    ///   - bytes: The bytes of the resource from `offset` on.
    ///   - offset: The offset of the first byte in the resource.
    ///   - key: The key of the resource.
    /// - Throws: Any error. The reader then fails with `.transform` and gets none of these bytes.
    func transform(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64, of key: ResourceKey) throws
}

/// The bytes of one step of a reader, transformed as they are read.
///
/// Memory of a running fetch is one more source here, so that doors have one way for both.
final class TransformedBytes: StoredBytes, @unchecked Sendable {
    // Safe to share: the bytes of `Source.memory` never change, because a `ReceiveBuffer` owns
    // them; everything else is `Sendable`.
    enum Source {
        case file(any StoredBytes)
        case memory(OwnedBytes, start: Int64)
    }

    private let source: Source
    private let transform: any ContentTransform
    private let key: ResourceKey
    private let failure: Locked<CacheError?>

    /// Creates the bytes of one step.
    ///
    /// - Parameter failure: The place for a failure of the transform, which the reader checks.
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
            // The reader must not get the bytes of the origin, or partly transformed ones.
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
        case .memory(let bytes, let start):
            let part = bytes.dropFirst(Int(offset - start)).prefix(buffer.count)
            part.withBytes { buffer.copyMemory(from: $0) }
            return part.count
        }
    }
}
