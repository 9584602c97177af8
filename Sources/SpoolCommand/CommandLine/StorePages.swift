import Spool
import SpoolCore

/// A list of a store, page by page, so that memory does not grow with the store.
struct StorePages<Element: Sendable>: AsyncSequence, AsyncIteratorProtocol {
    /// Returns the page after an element. The last page is empty.
    let read: @Sendable (_ last: Element?) async throws -> [Element]
    private var last: Element?

    init(_ read: @escaping @Sendable (_ last: Element?) async throws -> [Element]) { self.read = read }

    mutating func next() async throws -> [Element]? {
        let page = try await read(last)
        last = page.last
        return page.isEmpty ? nil : page
    }

    func makeAsyncIterator() -> StorePages { self }
}

extension MediaCache {
    /// The stored resources.
    var pages: StorePages<ResourceStatus> { StorePages { try await self.resources(after: $0?.key) } }

    /// The pins of resources without stored bytes.
    var pagesOfPins: StorePages<ResourceKey> { StorePages { try await ResourceKey.pinnedWithoutBytes(in: self, after: $0) } }
}
