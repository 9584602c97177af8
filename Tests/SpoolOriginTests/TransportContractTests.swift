import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTesting
import SpoolURLSession
import Testing

/// Tests every transport against the one contract.
@Suite(.timeLimit(.minutes(20)))
struct TransportContractTests {
    #if os(Linux)
    @Test(arguments: TransportContract.Case.allCases)
    func `libcurl satisfies the transport contract`(rule: TransportContract.Case) throws {
        let world = try SocketWorld()
        defer { world.origin.stop() }
        let transport = CurlTransport(options: .patient)
        defer { transport.close() }
        let violations = try world.contract(transport).violations(of: rule)
        #expect(violations == [])
    }

    @Test func `one libcurl transport satisfies the contract in all cases`() throws {
        let world = try SocketWorld()
        defer { world.origin.stop() }
        let transport = CurlTransport(options: .patient)
        defer { transport.close() }
        let violations = try world.contract(transport).violations()
        #expect(violations == [])
    }

    @Test func `closing libcurl's transport cancels current and later transfers`() throws {
        let world = try SocketWorld()
        defer { world.origin.stop() }
        let violations = try world.contract(CurlTransport(options: .patient)).violationsOfClose()
        #expect(violations == [])
    }

    @Test(arguments: TransportContract.Case.allCases.filter { $0 != .redirect })
    func `libcurl behind redirects satisfies the transport contract`(rule: TransportContract.Case) throws {
        let world = try SocketWorld()
        defer { world.origin.stop() }
        let transport = RedirectingTransport(CurlTransport(options: .patient))
        defer { transport.close() }
        let violations = try world.contract(transport).violations(of: rule)
        #expect(violations == [])
    }
    #endif

    /// The cases that `URLSession` can't satisfy, each with its reason.
    static let beyondURLSession: [TransportContract.Case: String] = {
        var cases: [TransportContract.Case: String] = [
            .codedBody: "it decodes every content coding; the transport refuses such a response rather than hand over other bytes"
        ]
        #if os(Linux)
        cases[.noHTTP] = "its error says only that something went wrong"
        cases[.contradictingLengths] = "it hands over one of two lengths"
        cases[.endInsideHead] = "it ends the process: a response that ends inside its head is a fatal error in FoundationNetworking"
        #endif
        return cases
    }()

    @Test(arguments: TransportContract.Case.allCases.filter { beyondURLSession[$0] == nil })
    func `URLSession satisfies the transport contract`(rule: TransportContract.Case) throws {
        let world = try SocketWorld()
        defer { world.origin.stop() }
        let transport = URLSessionTransport(options: .patient)
        defer { transport.close() }
        let violations = try world.contract(transport).violations(of: rule)
        #expect(violations == [])
    }

    @Test func `closing URLSession's transport cancels current and later transfers`() throws {
        let world = try SocketWorld()
        defer { world.origin.stop() }
        let violations = try world.contract(URLSessionTransport(options: .patient)).violationsOfClose()
        #expect(violations == [])
    }

    @Test(arguments: TransportContract.Case.allCases)
    func `the scripted origin satisfies the transport contract`(rule: TransportContract.Case) {
        let world = LaneWorld()
        defer { world.lane.shutdown() }
        #expect(world.contract.violations(of: rule) == [])
    }

    @Test func `closing the scripted origin cancels current and later transfers`() {
        let world = LaneWorld()
        defer { world.lane.shutdown() }
        #expect(world.contract.violationsOfClose() == [])
    }
}

/// The contract's origin on a socket.
struct SocketWorld {
    let origin: RawOrigin

    init() throws {
        origin = try RawOrigin(TransportContract.resources(base: ""), script: TransportContract.script)
    }

    func contract(_ transport: any Transport) throws -> TransportContract {
        TransportContract(transport, base: origin.url(""), unreachable: "http://127.0.0.1:\(try RawOrigin.unusedPort())/")
    }
}

/// The contract's origin as a script, on its own lane.
struct LaneWorld {
    let lane = DiskLane(name: "origin")
    let origin: ScriptedOrigin

    init() {
        origin = ScriptedOrigin(
            TransportContract.resources(base: "http://a.example"), mailbox: lane, time: SystemTime(), random: SystemRandom(),
            silenceTimeout: .seconds(300)
        ) { request, ordinal in
            request.url == "http://nobody.example/" ? .refuse : TransportContract.script(request, ordinal)
        }
    }

    var contract: TransportContract {
        TransportContract(origin, base: "http://a.example", unreachable: "http://nobody.example/")
    }
}

// The timeouts are long, because a slow busy machine is not a silent origin.

#if os(Linux)
extension CurlTransportOptions {
    static let patient: CurlTransportOptions = {
        var options = CurlTransportOptions()
        options.connectTimeout = .seconds(300)
        options.firstByteTimeout = .seconds(300)
        options.stallTimeout = .seconds(300)
        (options.stopTime, options.stopTurnTime) = (.seconds(300), .seconds(300))
        return options
    }()
}
#endif

extension URLSessionTransportOptions {
    static let patient: URLSessionTransportOptions = {
        var options = URLSessionTransportOptions()
        options.stallTimeout = .seconds(300)
        (options.firstByteTimeout, options.shortFirstByteTimeout) = (.seconds(300), .seconds(300))
        return options
    }()
}
