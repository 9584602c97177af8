import SpoolDashboard
import Testing

/// Tests what each open page gets of a state that changes.
@Suite struct PageFeedTests {
    /// A feed behind a reference, because the macros of the tests call no mutating method.
    private final class Feed {
        private var feed = PageFeed(run: "a")

        var count: Int { feed.count }
        var identifier: String { feed.identifier }
        func join(seen: String?) -> PageFeed.Page? { feed.join(seen: seen) }
        func publish(_ state: String) -> [PageFeed.Page] { feed.publish(Array(state.utf8)) }
        func beat() -> [PageFeed.Page] { feed.beat() }
        func take(_ page: PageFeed.Page) -> PageFeed.Output { feed.take(page) }
        func end() -> [PageFeed.Page] { feed.end() }
    }

    private func text(_ output: PageFeed.Output) -> String {
        guard case .bytes(let bytes) = output else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `a slow page gets the newest state in place of those that it missed`() throws {
        let feed = Feed()
        let page = try #require(feed.join(seen: nil))
        #expect(text(feed.take(page)) == ":\n\n", "the browser learns that the stream is open")
        #expect(feed.take(page) == .nothing)
        for state in 1...1000 { #expect(feed.publish("{\(state)}") == [page]) }
        #expect(text(feed.take(page)) == "id: a-1000\nevent: status\ndata: {1000}\n\n")
        #expect(feed.take(page) == .nothing)
        #expect(feed.publish("{1000}") == [], "the same state is no event")
    }

    @Test func `a page that comes back gets a state only if it is newer`() throws {
        let feed = Feed()
        _ = feed.publish("{}")
        #expect(feed.identifier == "a-1")
        let cases: [(seen: String?, isNew: Bool)] = [(nil, true), ("a-1", false), ("a-0", true), ("b-1", true), ("", true)]
        for test in cases {
            let page = try #require(feed.join(seen: test.seen))
            #expect(text(feed.take(page)).hasPrefix("id: a-1\n") == test.isNew, "\(String(describing: test.seen))")
        }
    }

    @Test func `beyond the limit a page that has stalled makes room, and no other`() throws {
        let feed = Feed()
        let pages = (0..<PageFeed.pageLimit).compactMap { _ in feed.join(seen: nil) }
        #expect(pages.count == PageFeed.pageLimit)
        #expect(feed.join(seen: nil) == nil)
        for page in pages { _ = feed.take(page) }
        _ = feed.publish("{}")
        for page in pages where page != pages[7] { _ = feed.take(page) }
        #expect(feed.join(seen: nil) == nil, "one look later is too early")
        #expect(Set(feed.beat()) == Set(pages).subtracting([pages[7]]))
        let late = try #require(feed.join(seen: nil))
        #expect(feed.take(pages[7]) == .end)
        #expect(text(feed.take(late)).hasPrefix("id: a-1\n"))
        #expect(feed.join(seen: nil) == nil && feed.count == PageFeed.pageLimit)
        // A page that takes its event late has not stalled any more.
        for page in pages where page != pages[7] { _ = feed.take(page) }
        _ = feed.take(late)
        #expect(feed.join(seen: nil) == nil)
    }

    @Test func `a stream without events has comments, and ends with the server`() throws {
        let feed = Feed()
        let page = try #require(feed.join(seen: nil))
        _ = feed.take(page)
        #expect(feed.beat() == [page] && text(feed.take(page)) == ":\n\n")
        #expect(feed.end() == [page] && feed.take(page) == .end && feed.count == 0)
    }
}
