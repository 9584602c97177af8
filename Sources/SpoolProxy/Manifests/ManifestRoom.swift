import SpoolSystem

/// The memory of manifests that are collected, kept and sent, by the client that asked first.
///
/// A client may ask for many large manifests and read none of them. Beyond its room it gets large
/// ones as they came, so that the others have memory. Safe to use from any thread.
final class ManifestRoom: Sendable {
    /// The most bytes for one client of the network: a few of the largest manifests, with the text
    /// that they become.
    static let bytesOfClient = 64 << 20
    /// The most bytes for all clients.
    private static let bytes = 256 << 20

    private struct Sums {
        var total = 0
        var clients: [[UInt8]: Int] = [:]
    }

    private let bytesOfClient: Int
    private let state = Locked(Sums())

    /// Creates an empty room.
    init(bytesOfClient: Int) { self.bytesOfClient = bytesOfClient }

    private func change(_ client: [UInt8]?, by count: Int) {
        state.withLock { state in
            state.total += count
            guard let client else { return }
            let sum = state.clients[client, default: 0] + count
            state.clients[client] = sum > 0 ? sum : nil
        }
    }

    private func isFull(for client: [UInt8]?) -> Bool {
        state.withLock { state in
            state.total > Self.bytes || client.map { state.clients[$0, default: 0] > bytesOfClient } == true
        }
    }

    /// The memory of one text. It counts until the claim is released.
    final class Claim: Sendable {
        private let room: ManifestRoom
        /// The name of the client, or nil for one that is not counted.
        let client: [UInt8]?
        private let bytes: Locked<Int>

        /// Creates a claim.
        ///
        /// - Parameter client: The name of the client, or nil for one that is not counted.
        init(on room: ManifestRoom, for client: [UInt8]?, bytes: Int = 0) {
            (self.room, self.client, self.bytes) = (room, client, Locked(bytes))
            room.change(client, by: bytes)
        }

        deinit { room.change(client, by: -bytes.withLock { $0 }) }

        /// Adds bytes of the text.
        func grow(by count: Int) {
            bytes.withLock { $0 += count }
            room.change(client, by: count)
        }

        /// Returns a claim of the same client for another text.
        func another(bytes: Int) -> Claim { Claim(on: room, for: client, bytes: bytes) }

        /// Whether the client, or all clients together, have more bytes than the room.
        var isBeyondRoom: Bool { room.isFull(for: client) }
    }
}
