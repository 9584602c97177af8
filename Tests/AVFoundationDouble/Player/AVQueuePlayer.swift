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

    nonisolated open func items() -> [AVPlayerItem] { state.withLock { $0.items } }

    /// Ends the current item and removes it. Its loading is not cancelled (C6).
    nonisolated open func advanceToNextItem() { changeItems([.currentItem]) { $0 = Array($0.dropFirst()) } }

    nonisolated open func canInsert(_ item: AVPlayerItem, after afterItem: AVPlayerItem?) -> Bool {
        let items = items()
        return !items.contains(item) && (afterItem.map { items.contains($0) } ?? true)
    }

    /// Inserts `item` behind `afterItem`, or at the end if that is nil.
    nonisolated open func insert(_ item: AVPlayerItem, after afterItem: AVPlayerItem?) {
        precondition(canInsert(item, after: afterItem), "an item can be inserted once, after one that is in the queue")
        place(item, after: afterItem)
    }

    /// Inserts `item` behind `afterItem`, or at an end of the list if that is nil.
    nonisolated func place(_ item: AVPlayerItem, after afterItem: AVPlayerItem?, atStart: Bool = false) {
        let isFirst = state.withLock { $0.items.isEmpty } || atStart && afterItem == nil
        changeItems(isFirst ? [.currentItem] : []) { items in
            let index = afterItem.flatMap { items.firstIndex(of: $0) }.map { $0 + 1 } ?? (atStart ? 0 : items.count)
            items.insert(item, at: index)
        }
    }

    nonisolated open func remove(_ item: AVPlayerItem) {
        let isCurrent = state.withLock { $0.items.first } === item
        changeItems(isCurrent ? [.currentItem] : []) { $0.removeAll { $0 === item } }
    }

    nonisolated open func removeAllItems() { changeItems([.currentItem]) { $0 = [] } }
}
