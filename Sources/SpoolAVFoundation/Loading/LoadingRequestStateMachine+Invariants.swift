// The invariants of the state machine. Debug builds and the tests check them after every event.

extension LoadingRequestStateMachine {
    /// The violated invariants, in words. Empty when all hold.
    package var violations: [String] {
        requestViolations + feedViolations
    }

    private var requestViolations: [String] {
        var found: [String] = []
        if requests.count > limits.openRequests { found.append("\(requests.count) requests are open") }
        if zip(requests, requests.dropFirst()).contains(where: { $0.id >= $1.id }) { found.append("requests are out of order") }
        switch phase {
        case .unknown, .fellBack, .ended:
            if !requests.isEmpty { found.append("\(requests.count) requests wait for nothing in \(phase)") }
        case .discovering: break
        case .known(let length):
            if length <= 0 { found.append("the length is \(length)") }
            for request in requests {
                if !request.isInformed { found.append("request \(request.id.rawValue) is not informed") }
                if request.feed == nil { found.append("request \(request.id.rawValue) waits for no feed") }
                if request.currentOffset >= Self.end(of: request.ask, length: length) {
                    found.append("request \(request.id.rawValue) is met at \(request.currentOffset) and open")
                }
            }
        }
        return found
    }

    private var feedViolations: [String] {
        var found: [String] = []
        for feed in feeds {
            let served = requests.filter { $0.feed == feed.id }
            if served.isEmpty { found.append("feed \(feed.id.rawValue) serves nobody") }
            if served.contains(where: { $0.currentOffset != feed.position }) {
                found.append("feed \(feed.id.rawValue) at \(feed.position) serves requests at \(served.map(\.currentOffset))")
            }
            if feed.position >= feed.end { found.append("feed \(feed.id.rawValue) is through") }
            if feed.aheadBytes < 0 { found.append("feed \(feed.id.rawValue) is behind") }
        }
        for request in requests where request.feed.map({ feed in !feeds.contains { $0.id == feed } }) == true {
            found.append("request \(request.id.rawValue) has a feed that is gone")
        }
        return found
    }
}
