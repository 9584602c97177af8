#if os(Linux)
import COpenSSL
#endif

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// A secret of 32 bytes: the master key of a store, or a key that was derived from it.
///
/// Its bytes are overwritten when the last reference goes, and no description, mirror or log shows them.
public final class EncryptionKey: Sendable {
    /// The size of a key, in bytes.
    public static let byteCount = CipherAlgorithm.keyBytes

    // Safe to share: nobody writes to it between `init` and `deinit`.
    private nonisolated(unsafe) let storage: UnsafeMutableRawBufferPointer

    /// A key of these bytes, or nil when they are not 32.
    ///
    /// The caller's copy is not overwritten; an app that reads a key from somewhere overwrites its own buffer.
    public convenience init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        self.init { $0.copyBytes(from: bytes) }
    }

    /// A key whose bytes `fill` writes.
    package init<E: Error>(filledBy fill: (UnsafeMutableRawBufferPointer) throws(E) -> Void) throws(E) {
        let storage = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.byteCount, alignment: 16)
        storage.initializeMemory(as: UInt8.self, repeating: 0)
        self.storage = storage
        // What was written when `fill` throws is overwritten by `deinit`, which runs for a complete object.
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

    /// Overwrites secret bytes in a way that no optimiser leaves out.
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
    public var description: String { "EncryptionKey(hidden)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
