#if os(Linux)
import COpenSSL
#endif

import SpoolLibc

/// A secret of 32 bytes: the master key of a store, or a key derived from it.
///
/// `deinit` overwrites the bytes. Descriptions, mirrors and logs never show them.
public final class EncryptionKey: Sendable {
    /// The size of a key, in bytes.
    public static let byteCount = CipherAlgorithm.keyBytes

    // Safe to share: only `init` and `deinit` write to it.
    private nonisolated(unsafe) let storage: UnsafeMutableRawBufferPointer

    /// Creates a key from these bytes, or returns nil when they are not 32.
    ///
    /// The initializer does not overwrite the caller's copy. An app that reads a key into a buffer
    /// overwrites that buffer itself.
    public convenience init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        self.init { $0.copyBytes(from: bytes) }
    }

    /// Creates a key whose bytes `fill` writes.
    package init<E: Error>(filledBy fill: (UnsafeMutableRawBufferPointer) throws(E) -> Void) throws(E) {
        let storage = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.byteCount, alignment: 16)
        storage.initializeMemory(as: UInt8.self, repeating: 0)
        self.storage = storage
        // If `fill` throws, `deinit` overwrites the bytes written so far: the object is already
        // complete.
        try fill(storage)
    }

    deinit {
        Self.wipe(storage)
        storage.deallocate()
    }

    /// Calls `body` with the bytes, which are valid during the call only.
    package func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try body(UnsafeRawBufferPointer(storage))
    }

    /// Overwrites secret bytes in a way that an optimiser can't remove.
    package static func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
        guard let start = bytes.baseAddress, bytes.count > 0 else { return }
        #if os(Linux)
        OPENSSL_cleanse(start, bytes.count)
        #else
        memset_s(start, bytes.count, 0, bytes.count)
        #endif
    }
}

extension EncryptionKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A fixed text without the key's bytes.
    public var description: String { "EncryptionKey(hidden)" }
    /// A fixed text without the key's bytes.
    public var debugDescription: String { description }
    /// A mirror without children, so that a dump does not show the key's bytes.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
