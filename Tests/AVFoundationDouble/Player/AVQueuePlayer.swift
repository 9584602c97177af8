import SpoolSystem

/// A player of several items, one after the other.
@MainActor open class AVQueuePlayer: AVPlayer {
    public nonisolated override init() {
        super.init(items: [], actionAtItemEnd: .advance)
    }

    /// Makes a player with a queue of items.
    public nonisolated init(items: [AVPlayerItem]) {
        super.init(items: items, actionAtItemEnd: .advance)
    }

    public nonisolated override init(playerItem item: AVPlayerItem?) {
        super.init(items: item.map { [$0] } ?? [], actionAtItemEnd: .advance)
    }

    open func items() -> [AVPlayerItem] { state.withLock { $0.items } }

    /// Ends the current item and removes it. Its loading is not cancelled (C6).
    open func advanceToNextItem() { advance() }

    /// The same, for a simulation that is not on the main thread.
    nonisolated package func advance() {
        let old = state.withLock { $0.items }
        change([.currentItem]) { $0.items = Array($0.items.dropFirst()) }
        withExtendedLifetime(old) {}
        machinery?.itemsChanged()
    }

    open func canInsert(_ item: AVPlayerItem, after afterItem: AVPlayerItem?) -> Bool {
        let items = items()
        return !items.contains(item) && (afterItem.map { items.contains($0) } ?? true)
    }

    /// Inserts `item` behind `afterItem`, or at the end if that is nil.
    open func insert(_ item: AVPlayerItem, after afterItem: AVPlayerItem?) {
        precondition(canInsert(item, after: afterItem), "an item can be inserted once, after one that is in the queue")
        append(item, after: afterItem)
    }

    /// The same, for a simulation that is not on the main thread.
    nonisolated package func append(_ item: AVPlayerItem, after afterItem: AVPlayerItem? = nil) {
        let isFirst = state.withLock { $0.items.isEmpty }
        change(isFirst ? [.currentItem] : []) { state in
            let index = afterItem.flatMap { state.items.firstIndex(of: $0) }.map { $0 + 1 } ?? state.items.count
            state.items.insert(item, at: index)
        }
        machinery?.itemsChanged()
    }

    open func remove(_ item: AVPlayerItem) { drop(item) }

    /// The same, for a simulation that is not on the main thread.
    nonisolated package func drop(_ item: AVPlayerItem) {
        let isCurrent = state.withLock { $0.items.first } === item
        change(isCurrent ? [.currentItem] : []) { $0.items.removeAll { $0 === item } }
        machinery?.itemsChanged()
    }

    open func removeAllItems() {
        let old = items()
        change([.currentItem]) { $0.items = [] }
        withExtendedLifetime(old) {}
        machinery?.itemsChanged()
    }
}
