// The declarations of CryptoKit that Spool uses.
public import Foundation

public struct SymmetricKey: ContiguousBytes, Sendable {
    public init<D: ContiguousBytes>(data: D) { fatalError("declaration") }
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { fatalError("declaration") }
}

public protocol Digest: Hashable, ContiguousBytes, Sendable, Sequence where Element == UInt8 {}

public protocol HashFunction {
    associatedtype Digest: CryptoKit.Digest
    init()
    mutating func update(bufferPointer: UnsafeRawBufferPointer)
    func finalize() -> Digest
}

extension HashFunction {
    public static func hash<D: DataProtocol>(data: D) -> Digest { fatalError("declaration") }
    public mutating func update<D: DataProtocol>(data: D) { fatalError("declaration") }
}

public struct SHA256Digest: Digest {
    public func makeIterator() -> Array<UInt8>.Iterator { fatalError("declaration") }
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { fatalError("declaration") }
}

public struct SHA256: HashFunction, Sendable {
    public typealias Digest = SHA256Digest
    public init() {}
    public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
    public func finalize() -> SHA256Digest { fatalError("declaration") }
}

public struct HashedAuthenticationCode<H: HashFunction>: ContiguousBytes, Sequence {
    public func makeIterator() -> Array<UInt8>.Iterator { fatalError("declaration") }
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { fatalError("declaration") }
}

public struct HMAC<H: HashFunction>: Sendable {
    public init(key: SymmetricKey) { fatalError("declaration") }
    public mutating func update<D: DataProtocol>(data: D) { fatalError("declaration") }
    public func finalize() -> HashedAuthenticationCode<H> { fatalError("declaration") }
    public static func authenticationCode<D: DataProtocol>(for data: D, using key: SymmetricKey) -> HashedAuthenticationCode<H> {
        fatalError("declaration")
    }
}

@available(macOS 11.0, iOS 14.0, watchOS 7.0, tvOS 14.0, *)
public struct HKDF<H: HashFunction>: Sendable {
    public static func deriveKey<Salt: DataProtocol, Info: DataProtocol>(
        inputKeyMaterial: SymmetricKey, salt: Salt, info: Info, outputByteCount: Int
    ) -> SymmetricKey { fatalError("declaration") }
}

public enum ChaChaPoly {
    public struct Nonce: ContiguousBytes, Sendable {
        public init<D: DataProtocol>(data: D) throws { fatalError("declaration") }
        public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { fatalError("declaration") }
    }
    public struct SealedBox: Sendable {
        public let tag: Data
        public let ciphertext: Data
        public init<C: DataProtocol, T: DataProtocol>(nonce: Nonce, ciphertext: C, tag: T) throws { fatalError("declaration") }
    }
    public static func seal<P: DataProtocol, A: DataProtocol>(
        _ message: P, using key: SymmetricKey, nonce: Nonce? = nil, authenticating authenticatedData: A
    ) throws -> SealedBox { fatalError("declaration") }
    public static func open<A: DataProtocol>(
        _ sealedBox: SealedBox, using key: SymmetricKey, authenticating authenticatedData: A
    ) throws -> Data { fatalError("declaration") }
}

public enum AES {
    public enum GCM {
        public struct Nonce: ContiguousBytes, Sendable {
            public init<D: DataProtocol>(data: D) throws { fatalError("declaration") }
            public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { fatalError("declaration") }
        }
        public struct SealedBox: Sendable {
            public let tag: Data
            public let ciphertext: Data
            public init<C: DataProtocol, T: DataProtocol>(nonce: Nonce, ciphertext: C, tag: T) throws { fatalError("declaration") }
        }
        public static func seal<P: DataProtocol, A: DataProtocol>(
            _ message: P, using key: SymmetricKey, nonce: Nonce? = nil, authenticating authenticatedData: A
        ) throws -> SealedBox { fatalError("declaration") }
        public static func open<A: DataProtocol>(
            _ sealedBox: SealedBox, using key: SymmetricKey, authenticating authenticatedData: A
        ) throws -> Data { fatalError("declaration") }
    }
}
