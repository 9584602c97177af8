import Spool

/// A transform of an app.
struct Mask: ContentTransform {
    func transform(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64, of key: ResourceKey) throws {
        for index in bytes.indices { bytes[index] ^= 0x5A }
    }
}
