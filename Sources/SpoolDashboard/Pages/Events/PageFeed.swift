/// The state that all open pages show, and which page has to receive it: a state machine without a
/// clock and without I/O.
///
/// An event is the whole state, so the newest one stands for all that a slow page missed. At most
/// one event waits for a page.
package struct PageFeed {
    /// The largest number of open pages.
    package static let pageLimit = 64

    /// The number of an open page.
    package typealias Page = Int

    /// The bytes that a page gets next.
    package enum Output: Equatable {
        /// An event or a comment.
        case bytes([UInt8])
        /// No bytes yet.
        case nothing
        /// The stream ends.
        case end
    }

    private enum Waiting {
        case nothing
        /// A comment, which shows both ends that the connection is alive.
        case comment
        /// The newest event.
        case event
    }

    private struct Entry {
        var waiting: Waiting
        /// Whether the page has taken nothing since a beat before the last one.
        var isStalled = false
    }

    /// Differs between runs of the server, so that the identifier of an earlier run names no event
    /// of this one.
    private let run: String
    private var pages: [Page: Entry] = [:]
    private var lastPage = 0
    private var number: Int64 = 0
    /// The newest state, without its identifier.
    private var state: [UInt8]?

    /// Creates a feed without a state and without pages.
    package init(run: String) {
        self.run = run
    }

    /// The number of open pages.
    package var count: Int { pages.count }

    /// The identifier of the newest event.
    package var identifier: String { "\(run)-\(number)" }

    /// Adds a page. It gets the newest state at once, unless it has received that already.
    ///
    /// At the limit, a page that has stalled makes room.
    /// - Parameter seen: The identifier of the last event that the page received.
    /// - Returns: The number of the page, or nil if there are too many.
    package mutating func join(seen: String?) -> Page? {
        if pages.count >= Self.pageLimit {
            guard let stalled = pages.filter(\.value.isStalled).keys.min() else { return nil }
            pages[stalled] = nil
        }
        lastPage += 1
        // A comment begins the stream, so that the browser learns that it is open.
        pages[lastPage] = Entry(waiting: state == nil || seen == identifier ? .comment : .event)
        return lastPage
    }

    /// Removes a page.
    package mutating func leave(_ page: Page) { pages[page] = nil }

    /// Sets the state.
    ///
    /// - Returns: The pages to wake; none if the state is the same as before.
    package mutating func publish(_ state: [UInt8]) -> [Page] {
        guard state != self.state else { return [] }
        self.state = state
        number += 1
        for page in pages.keys { pages[page]?.waiting = .event }
        return Array(pages.keys)
    }

    /// Gives a comment to each page for which nothing waits. A page that has not taken what waited
    /// for it at the last beat has stalled.
    ///
    /// - Returns: The pages to wake.
    package mutating func beat() -> [Page] {
        var woken: [Page] = []
        for (page, entry) in pages {
            switch entry.waiting {
            case .nothing:
                pages[page]?.waiting = .comment
                woken.append(page)
            case .comment, .event: pages[page]?.isStalled = true
            }
        }
        return woken
    }

    /// Returns the next bytes of a page, which no longer wait for it then.
    package mutating func take(_ page: Page) -> Output {
        guard let entry = pages[page] else { return .end }
        pages[page] = Entry(waiting: .nothing)
        switch entry.waiting {
        case .nothing: return .nothing
        case .comment: return .bytes(Array(":\n\n".utf8))
        case .event: return .bytes(Array("id: \(identifier)\nevent: status\ndata: ".utf8) + (state ?? []) + Array("\n\n".utf8))
        }
    }

    /// Ends all streams.
    ///
    /// - Returns: The pages to wake.
    package mutating func end() -> [Page] {
        defer { pages = [:] }
        return Array(pages.keys)
    }
}
