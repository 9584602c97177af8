import AVFoundation
import SpoolSystem
import Testing

/// Every callback of the delegate is called, and its answers reach the request.
@Suite struct LoaderTests {
    @Test func `a loader does not keep its delegate`() {
        let asset = AVURLAsset(url: LoaderBench.url)
        var delegate: TinyDelegate? = TinyDelegate()
        asset.resourceLoader.setDelegate(delegate, queue: nil)
        #expect(asset.resourceLoader.delegate === delegate)
        delegate = nil
        #expect(asset.resourceLoader.delegate == nil)
    }

    @Test func `a request is passed to the delegate, answered and finished`() {
        let bench = LoaderBench()
        bench.begin(.init(url: LoaderBench.url, wantsInformation: true, data: .init(offset: 0, length: 2)))
        #expect(bench.run() == ["data 2 at 0", "finished 100000 public.mp3", "accepted"])
        #expect(bench.journal == [])
    }

    @Test func `a cancelled request is identified by its object`() {
        let bench = LoaderBench()
        bench.delegate.isSilent = true
        let first = bench.begin(.init(url: LoaderBench.url, data: .init(offset: 0, length: 100_000, toEnd: true)))
        bench.begin(.init(url: LoaderBench.url, data: .init(offset: 0, length: 100_000, toEnd: true)))
        _ = bench.run()
        bench.asset.resourceLoader.cancel(first)
        _ = bench.run()
        #expect(bench.delegate.cancelled.map(\.transaction.number) == [1])
        #expect(bench.delegate.waiting.map(\.isCancelled) == [true, false])
        bench.delegate.letGo()
    }

    @Test func `releasing an asset cancels its open requests`() {
        let bench = LoaderBench()
        bench.delegate.isSilent = true
        let copy = bench.asset.copy() as? AVURLAsset
        bench.begin(.init(url: LoaderBench.url, data: .init(offset: 0, length: 10)))
        _ = bench.run()
        bench.asset = AVURLAsset(url: LoaderBench.url)
        _ = bench.run()
        #expect(bench.delegate.cancelled.isEmpty, "the copy shares the loader")
        withExtendedLifetime(copy) {}
        bench.delegate.letGo()
    }

    @Test func `a renewal and a challenge reach their own callbacks`() {
        let bench = LoaderBench()
        var ask = LoadingAsk(url: LoaderBench.url, wantsInformation: true)
        ask.isRenewal = true
        bench.begin(ask)
        #expect(bench.run() == ["finished 100000 public.mp3", "accepted"])
        let space = URLProtectionSpace(host: "origin.test", port: 443, protocol: "https", realm: nil, authenticationMethod: nil)
        let challenge = URLAuthenticationChallenge(
            protectionSpace: space, proposedCredential: nil, previousFailureCount: 0, failureResponse: nil, error: nil,
            sender: NoSender())
        let answers = Locked<[Bool]>([])
        bench.asset.resourceLoader.challenge(challenge, world: bench.world, on: bench.mailbox) { answer in
            answers.withLock { $0.append(answer) }
        }
        bench.asset.resourceLoader.cancel(challenge, world: bench.world)
        _ = bench.run()
        #expect(bench.delegate.calls == ["renewal", "challenge", "challenge cancelled"])
        #expect(answers.withLock { $0 } == [true])
    }

    @Test func `a delegate without any method refuses`() {
        final class Idle: NSObject, AVAssetResourceLoaderDelegate {}
        let bench = LoaderBench()
        let idle = Idle()
        bench.asset.resourceLoader.setDelegate(idle, queue: nil)
        bench.begin(.init(url: LoaderBench.url, wantsInformation: true))
        #expect(bench.run() == ["refused"])
        withExtendedLifetime(idle) {}
    }

    @Test func `an object tied to a loader lives as long as the loader`() {
        let key = UnsafeRawPointer(bitPattern: 1)!
        var asset: AVURLAsset? = AVURLAsset(url: LoaderBench.url)
        weak var tied: TinyDelegate?
        do {
            let delegate = TinyDelegate()
            tied = delegate
            objc_setAssociatedObject(asset!.resourceLoader, key, delegate, .OBJC_ASSOCIATION_RETAIN)
        }
        let copy = asset?.copy() as? AVURLAsset
        asset = nil
        #expect(tied != nil, "the copy shares the loader")
        #expect(objc_getAssociatedObject(copy!.resourceLoader, key) as? TinyDelegate === tied)
        withExtendedLifetime(copy) {}
    }
}

/// Challenges in tests have no sender.
private final class NoSender: NSObject, URLAuthenticationChallengeSender {
    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
    func cancel(_ challenge: URLAuthenticationChallenge) {}
    func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
}
