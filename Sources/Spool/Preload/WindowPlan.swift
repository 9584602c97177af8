/// Decides which items of a list are preloaded, and which are no longer. A value without I/O.
///
/// The window has the item that plays, the next ones, and some of those before it, in this order of
/// urgency. A few of them are preloaded at the same time.
package struct WindowPlan<Item: Hashable & Sendable>: Sendable {
    /// A thing to do, in the order of the list.
    package enum Action: Hashable {
        /// Begin to preload the item, or go on.
        case start(Item)
        /// Stop the preload of an item that stays in the window. It is started again later.
        case stop(Item)
        /// Stop the preload of an item, and end the protection of its bytes.
        case drop(Item)
    }

    private enum State: Hashable {
        case waiting
        case running
        case over
    }

    private let ahead: Int
    private let behind: Int
    private let jobs: Int
    private var items: [Item] = []
    private var position = 0
    /// The states of the items in the window.
    private var states: [Item: State] = [:]

    /// Creates an empty window.
    ///
    /// - Parameters:
    ///   - ahead: The number of items behind the one that plays. A negative number counts as 0.
    ///   - behind: The number of items before it. A negative number counts as 0.
    ///   - jobs: The most items that are preloaded at the same time, at least 1.
    package init(ahead: Int, behind: Int, jobs: Int) {
        self.ahead = max(0, ahead)
        self.behind = max(0, behind)
        self.jobs = max(1, jobs)
    }

    /// The items in the window, the most urgent first, each once.
    package var window: [Item] {
        guard items.indices.contains(position) else { return [] }
        let next = items[position...].prefix(ahead < .max ? ahead + 1 : .max)
        let last = items[..<position].suffix(behind).reversed()
        var seen = Set<Item>()
        return (Array(next) + last).filter { seen.insert($0).inserted }
    }

    /// Moves the window.
    ///
    /// - Parameters:
    ///   - items: All items in order.
    ///   - position: The index of the item that plays. The window is empty if there is no such
    ///     item.
    package mutating func moved(to position: Int, in items: [Item]) -> [Action] {
        (self.items, self.position) = (items, position)
        let window = window
        let kept = Set(window)
        let dropped = states.keys.filter { !kept.contains($0) }
        for item in dropped { states[item] = nil }
        for item in window where states[item] == nil { states[item] = .waiting }
        return dropped.map { .drop($0) } + balance(window)
    }

    /// Ends the preload of an item, with or without success. It is not tried again before it has
    /// left the window.
    package mutating func finished(_ item: Item) -> [Action] {
        guard states[item] == .running else { return [] }
        states[item] = .over
        return balance(window)
    }

    /// Lets the most urgent items run, and the others wait.
    private mutating func balance(_ window: [Item]) -> [Action] {
        let open = window.filter { states[$0] != .over }
        let running = Set(open.prefix(jobs))
        var actions: [Action] = []
        for item in open where states[item] == .running && !running.contains(item) {
            states[item] = .waiting
            actions.append(.stop(item))
        }
        for item in open where states[item] == .waiting && running.contains(item) {
            states[item] = .running
            actions.append(.start(item))
        }
        return actions
    }
}
