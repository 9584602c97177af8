import Spool
import SpoolCore
import SpoolSystem

/// Finds out which renditions of a manifest play without the network.
///
/// A player that chooses another variant would stop at its first missing segment. While nothing is
/// complete, the manifest stays as it is: the network may be back soon. Belongs to the loop's
/// thread.
final class OfflineOffer {
    private let found = Locked<Result<ManifestMemo.Entry, CacheError>?>(nil)

    /// Begins the look.
    ///
    /// - Parameter wake: Called, on any thread, when there is an entry.
    init(of entry: ManifestMemo.Entry, in door: ManifestDoor, wake: @escaping @Sendable () -> Void) {
        door.cache.presentations.inventory(of: entry.cause.key) { [found] result in
            // Without an answer of the store, the manifest stays as it is.
            let inventory: PresentationInventory? = if case .success(let inventory) = result { inventory } else { nil }
            door.lanes.post(for: entry.claim?.client) {
                let offer: Result<ManifestMemo.Entry, CacheError>
                do throws(CacheError) {
                    let reduced = if let inventory { try door.reduce(inventory, entry) } else { nil as ManifestMemo.Entry? }
                    offer = .success(reduced ?? entry)
                } catch {
                    offer = .failure(error)
                }
                found.withLock { $0 = offer }
                wake()
            }
        }
    }

    /// The manifest for the player, or nil while the look is under way. It throws as
    /// `ManifestDoor.reduce(_:_:)`.
    var entry: ManifestMemo.Entry? {
        get throws(CacheError) { try found.withLock { $0 }?.get() }
    }
}
