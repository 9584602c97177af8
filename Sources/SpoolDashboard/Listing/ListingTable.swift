import Spool
package import SpoolCore
package import SpoolStore

/// A question about the list of all resources: a search, an order and a window.
package struct ListingQuery: Hashable, Sendable {
    /// The value by which a listing is sorted. Equal values are in the order of their keys.
    package enum Order: String, CaseIterable, Sendable {
        /// The key.
        case key
        /// The last part of the URL's path, without regard to case.
        case name
        /// The length. An unknown one counts as the stored bytes.
        case size
        /// The stored part of the length. An unknown length comes first.
        case share
        /// The time of the last use.
        case used
    }

    /// The words that a key must contain, in any order and without regard to case. Empty for all.
    package var search: String
    package var order: Order
    package var isDescending: Bool
    /// The number of resources before the window.
    package var offset: Int
    /// The largest number of resources in the window.
    package var limit: Int
    /// The keys that are left out.
    package var without: Set<ResourceKey>
    /// Whether the parts of presentations are left out, so that a presentation is one line.
    package var hidesParts: Bool
    /// The keys whose status comes with the window, wherever they are in the list.
    package var named: [ResourceKey]

    /// Creates a query.
    package init(
        search: String = "", order: Order = .key, isDescending: Bool = false, offset: Int = 0, limit: Int, without: Set<ResourceKey> = [],
        hidesParts: Bool = false, named: [ResourceKey] = []
    ) {
        self.search = search
        self.order = order
        self.isDescending = isDescending
        self.offset = offset
        self.limit = limit
        self.without = without
        self.hidesParts = hidesParts
        self.named = named
    }
}

/// The resources of a cache at one moment, with the values by which they are searched and sorted.
package struct ListingTable {
    /// A resource of the table.
    package struct Entry {
        var summary: StoredSummary
        /// The key in lower case, with percent-encoded characters decoded: the text that is
        /// searched.
        let text: String
        /// The last part of the path of the URL in the same form.
        let name: String

        /// Creates an entry.
        package init(_ summary: StoredSummary) {
            self.summary = summary
            text = summary.key.string.percentDecodedLeniently.lowercased()
            let path = summary.url.prefix { $0 != "?" && $0 != "#" }
            name = (path.split(separator: "/").last ?? path).percentDecodedLeniently.lowercased()
        }

        /// The stored bytes of the resource. Whole blocks of the disk may be more than all of it.
        fileprivate var storedBytes: Int64 { summary.length.map { min($0, summary.storedBytes) } ?? summary.storedBytes }

        /// The stored part of the length, or -1 while the length is unknown.
        fileprivate var share: Double {
            guard let length = summary.length else { return -1 }
            return length == 0 ? 1 : Double(storedBytes) / Double(length)
        }
    }

    /// The largest number of selections that are kept for further windows.
    private static let keptSelections = 4
    /// The largest number of words of a search.
    private static let wordLimit = 8

    /// The resources, in any order.
    package private(set) var entries: [Entry]
    /// Whether there are more resources than the table has.
    package let isTruncated: Bool
    /// The presentations among the resources.
    package let groups: PresentationGroups
    /// The last selections, each with the positions of its entries in order. A selection is a query
    /// without a window.
    private var selections: [(selection: ListingQuery, positions: [Int])] = []

    /// Creates a table of entries in any order.
    package init(_ entries: [Entry], isTruncated: Bool, groups: PresentationGroups = PresentationGroups()) {
        self.entries = entries
        self.isTruncated = isTruncated
        self.groups = groups
    }

    /// Removes the resources with these keys.
    mutating func remove(_ keys: Set<ResourceKey>) {
        entries.removeAll { keys.contains($0.summary.key) }
        selections = []
    }

    /// Returns the keys of a query's window, and the number of resources that match.
    ///
    /// - Complexity: O(*n* log *n*) for a selection that is not among the last ones, else
    ///   O(`limit`).
    package mutating func window(_ query: ListingQuery) -> (keys: [ResourceKey], matching: Int) {
        var selection = query
        (selection.offset, selection.limit, selection.named) = (0, 0, [])
        let positions: [Int]
        if let known = selections.first(where: { $0.selection == selection }) {
            positions = known.positions
        } else {
            positions = find(selection)
            if selections.count >= Self.keptSelections { selections.removeFirst() }
            selections.append((selection, positions))
        }
        return (positions.dropFirst(max(0, query.offset)).prefix(max(0, query.limit)).map { entries[$0].summary.key }, positions.count)
    }

    private func find(_ selection: ListingQuery) -> [Int] {
        let words = selection.search.lowercased().split(separator: " ").prefix(Self.wordLimit)
        let found = entries.indices.filter { index in
            let entry = entries[index]
            let key = entry.summary.key
            return words.allSatisfy { entry.text.contains($0) } && !selection.without.contains(key)
                && !(selection.hidesParts && groups.contains(key))
        }
        let sorted = found.sorted { precedes(entries[$0], entries[$1], selection) }
        return selection.isDescending ? sorted.reversed() : sorted
    }

    private func precedes(_ a: Entry, _ b: Entry, _ selection: ListingQuery) -> Bool {
        switch selection.order {
        case .key: a.summary.key < b.summary.key
        case .name: a.name == b.name ? a.summary.key < b.summary.key : a.name < b.name
        case .size:
            precedes(a, b) { entry in
                let whole = selection.hidesParts ? groups[entry.summary.key]?.storedBytes : nil
                return whole ?? entry.summary.length ?? entry.storedBytes
            }
        case .share: precedes(a, b, by: \.share)
        case .used: precedes(a, b, by: \.summary.lastAccess.nanoseconds)
        }
    }

    private func precedes(_ a: Entry, _ b: Entry, by value: (Entry) -> some Comparable) -> Bool {
        let (first, second) = (value(a), value(b))
        return first == second ? a.summary.key < b.summary.key : first < second
    }
}
