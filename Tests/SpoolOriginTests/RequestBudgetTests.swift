import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// The layers that repeat a request share one number of requests.
struct RequestBudgetTests {
    /// Sends a request that Spool changed to an origin that refuses everything. Returns the number of
    /// requests that were no redirects, and the calls of the receiver.
    private func requests(isLate: Bool, isRedirected: Bool, budget: RequestBudget?) -> (Int, [String]) {
        let base = HandTransport(), time = ManualTime(), receiver = WordReceiver()
        let doubling = DoublingTransport(base, time: time, on: HandMailbox())
        let transport = AsAskedTransport(RedirectingTransport(doubling), time: time)
        var request = OriginRequest(url: "https://media.example/a", fields: ["Range": "bytes=0-"])
        request.wait(OriginPatience(), isBrief: false)
        (request.clientRange, request.budget) = (.whole, budget)
        let transfer = transport.start(request, receiver: receiver)
        defer { transfer.cancel() }
        var next = 0, redirects = 0
        while next < base.count {
            if isRedirected, base.urls[next].hasSuffix("/a") {
                base.answer(next, 302, ["Location": "/b"])
                redirects += 1
            } else {
                if isLate { time.advance(by: .seconds(8)) }
                base.answer(next, 403)
            }
            base.end(next, .complete)
            next += 1
        }
        return (base.count - redirects, receiver.words.filter { $0 != "late" })
    }

    @Test(arguments: [false, true], [false, true])
    func `a status is passed on after three requests at most`(isLate: Bool, isRedirected: Bool) {
        let (count, words) = requests(isLate: isLate, isRedirected: isRedirected, budget: RequestBudget())
        #expect(count == (isLate ? 3 : 2))
        #expect(words.first == "403")
    }

    @Test func `without a budget the repetitions multiply`() {
        #expect(requests(isLate: true, isRedirected: false, budget: nil).0 == 4)
    }

    @Test func `a budget ends`() {
        let budget = RequestBudget()
        #expect((1..<RequestBudget.requests).allSatisfy { _ in budget.allowsAnother() })
        #expect(!budget.allowsAnother() && !budget.allowsAnother())
    }
}
