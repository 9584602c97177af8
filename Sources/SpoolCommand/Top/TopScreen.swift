import SpoolCore

/// The screen of `spool top` as lines: a pure function of two samples, the size and the order.
package struct TopScreen: Sendable {
    /// The order of the resources.
    package enum Order: String, CaseIterable, Sendable {
        case rate, readers, size, name

        /// The order that the key `s` selects next.
        package var next: Order {
            let all = Order.allCases
            return all[((all.firstIndex(of: self) ?? 0) + 1) % all.count]
        }
    }

    /// The address of the server, without secrets.
    package var address: String
    package var order = Order.rate
    /// The reason why there is no new sample, or nil.
    package var trouble: String?
    package var style: TerminalStyle

    package init(address: String, style: TerminalStyle) {
        self.address = address
        self.style = style
    }

    /// Returns the lines of the screen. There are at most `rows`, and none has more than `columns`
    /// characters beside the codes for colours.
    package func lines(_ sample: TopSample, _ rates: TopRates, columns: Int, rows: Int) -> [String] {
        var lines = heading(sample, rates, columns).map { fitted($0, columns) }
        if let trouble { lines.append(style.colored(fitted(trouble.printable, columns), .red)) }
        if let first = lines.first { lines[0] = style.bold(first) }
        lines.append("")
        lines.append(style.colored(fitted(Self.columnNames, columns), .cyan))
        let room = max(0, rows - lines.count - 1)
        lines += sorted(sample, rates).prefix(room).map { fitted(row($0, rates, columns), columns) }
        let hidden = sample.activeCount - Int64(min(room, sample.active.count))
        if hidden > 0 { lines.append(fitted("and \(hidden) more", columns)) }
        if sample.active.isEmpty { lines.append(fitted("nothing plays", columns)) }
        return Array(lines.prefix(max(0, rows)))
    }

    /// Returns one line for an output that is not a terminal.
    package func plainLine(_ sample: TopSample, _ rates: TopRates, at time: String) -> String {
        "\(time)  readers \(sample.readers)  fetches \(sample.fetches)  served \(ByteCount.text(rates.served))/s"
            + "  fetched \(ByteCount.text(rates.fetched))/s  hits \(Self.hitRatio(sample))  store \(ByteCount.text(sample.storedBytes))"
    }

    // MARK: Lines

    private func heading(_ sample: TopSample, _ rates: TopRates, _ columns: Int) -> [String] {
        let keys = "sorted by \(order.rawValue)   s sorts, q quits"
        let title = "spool top  \(address.printable)"
        let gap = String(repeating: " ", count: max(2, columns - title.count - keys.count))
        let limit = sample.quotaBytes.map { " of \(ByteCount.text($0)) (\(ByteCount.percent(sample.storedBytes, of: $0)) %)" } ?? ""
        let free = sample.freeBytes.map { "   disk \(ByteCount.text($0)) free" } ?? ""
        let writer = sample.isWritable ? "" : "   another process writes to the store"
        return [
            title + gap + keys,
            "readers \(sample.readers)   fetches \(sample.fetches)   hits \(Self.hitRatio(sample)) of bytes   requests to origins \(sample.originRequests)",
            "served \(ByteCount.text(rates.served))/s   from the store \(ByteCount.text(rates.fromStore))/s"
                + "   from origins \(ByteCount.text(rates.fromOrigin))/s   fetched \(ByteCount.text(rates.fetched))/s"
                + (rates.sentByOrigins.map { "   sent by origins \(ByteCount.text($0))/s" } ?? ""),
            "store \(ByteCount.text(sample.storedBytes))\(limit) in \(sample.resources) resources\(free)\(writer)",
        ]
    }

    private static func hitRatio(_ sample: TopSample) -> String {
        let all = sample.bytesFromStore.addingSaturated(sample.bytesFromOrigin)
        return all <= 0 ? "-" : "\(ByteCount.percent(sample.bytesFromStore, of: all)) %"
    }

    private static let columnNames = "    STORED/S  STORED     LENGTH  READERS  FETCHES  "
    /// The width of the bar of a resource, on screens that have room for it.
    private static let barWidth = 24
    /// The room that a key has at least beside a bar.
    private static let keyWidth = 40

    private func row(_ resource: TopSample.Resource, _ rates: TopRates, _ columns: Int) -> String {
        let share = resource.length.map { "\(ByteCount.percent(resource.storedBytes, of: $0)) %" } ?? "?"
        let cells = [
            (ByteCount.text(rates.byResource[resource.key] ?? 0) + "/s", 12), (share, 8), (resource.length.map(ByteCount.text) ?? "?", 11),
            ("\(resource.readers)", 9), ("\(resource.fetches)", 9),
        ]
        var text = cells.map { $0.padded(to: $1, onLeft: true) }.joined() + "  "
        if columns > text.count + Self.barWidth + Self.keyWidth, let length = resource.length {
            text += SpanBar(stored: resource.stored, length: length).text(width: Self.barWidth) + "  "
        }
        return text + resource.key.printable + (resource.notStoredBecause.map { "  not stored: \($0.printable)" } ?? "")
    }

    private func sorted(_ sample: TopSample, _ rates: TopRates) -> [TopSample.Resource] {
        sample.active.sorted { first, second in
            let (a, b) = (value(first, rates), value(second, rates))
            return a == b ? first.key < second.key : a > b
        }
    }

    private func value(_ resource: TopSample.Resource, _ rates: TopRates) -> Int64 {
        switch order {
        case .rate: rates.byResource[resource.key] ?? 0
        case .readers: resource.readers
        case .size: resource.storedBytes
        case .name: 0
        }
    }

    private func fitted(_ text: String, _ columns: Int) -> String { String(text.prefix(max(0, columns))) }
}
