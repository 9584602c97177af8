import SpoolCore

/// The query of a command or of a report.
struct Query: Sendable {
    private let items: [String: String]
    /// The largest number of items that are read.
    private static let itemLimit = 16

    init(_ text: Substring) {
        var items: [String: String] = [:]
        for item in text.split(separator: "&").prefix(Self.itemLimit) {
            let name = item.prefix { $0 != "=" }
            items[String(name)] = item.dropFirst(name.count + 1).percentDecoded
        }
        self.items = items
    }

    subscript(name: String) -> String? { items[name] }

    func number(_ name: String) -> Int64? { items[name].flatMap { Int64($0) } }

    /// The key that the query names.
    var key: ResourceKey? { items["key"].map(ResourceKey.init(normalized:)) }
}
