import AVFoundation
import SpoolTesting
import Testing

/// Each breach of the loader's contract is recorded with the number of its rule.
@Suite struct ContractTests {
    @Test(arguments: [
        (ServingDelegate.Misstep.answersAfterFinishing, ContractRule.c8), (.finishesTwice, .c8),
        (.answersAfterCancel, .c9), (.finishesAfterCancel, .c9),
        (.sendsTooMuch, .r3), (.sendsWrongByte, .r2), (.finishesShort, .r5),
        (.sendsDataFirst, .l11), (.tellsNothing, .l11), (.tellsNoLength, .c16), (.tellsNoType, .c17), (.tellsMIMEType, .i6),
        (.tellsForbiddenType, .c18),
        (.neverAnswers, .c12), (.forgetsTheRequest, .d5), (.reusesItsBuffer, .r6),
        (.redirectsToFTP, .h1), (.redirectsWithoutResponse, .h1), (.redirectsLate, .h1),
    ])
    func `each breach is recorded with its rule`(misstep: ServingDelegate.Misstep, rule: ContractRule) {
        var habits = PlayerHabits.small
        if misstep == .tellsForbiddenType { habits.allowedContentTypes = ["public.mp3"] }
        let bench = PlayBench(habits: habits)
        bench.delegate.misstep = misstep
        if rule == .h1 { bench.delegate.redirect = misstep == .redirectsLate ? nil : URL(string: bench.resource.url) }
        bench.playToEnd()
        #expect(bench.rules.contains(rule), "\(bench.world.journal.breaches)")
    }

    @Test func `a request without a delegate stays unanswered and is a breach`() {
        let bench = LoaderBench()
        bench.asset.resourceLoader.setDelegate(TinyDelegate(), queue: nil)
        bench.begin(.init(url: LoaderBench.url, wantsInformation: true))
        #expect(bench.run() == ["unanswered"])
        #expect(bench.world.journal.breaches.map(\.rule) == [.d7])
    }

    @Test func `a load without a delegate, or with one that refuses, fails`() {
        let bench = LoaderBench()
        bench.asset = AVURLAsset(url: LoaderBench.url)
        bench.begin(.init(url: LoaderBench.url, wantsInformation: true))
        #expect(bench.run() == ["refused"])
        let play = PlayBench()
        play.delegate.misstep = .refuses
        play.playToEnd()
        #expect(play.feeder.lastError?.code == AVError.Code.unknown.rawValue)
        #expect(play.world.journal.breaches == [])
    }

    @Test func `the main queue as the delegate's queue is a breach`() {
        let bench = LoaderBench()
        bench.asset.resourceLoader.setDelegate(bench.delegate, queue: .main)
        bench.begin(.init(url: LoaderBench.url, wantsInformation: true))
        _ = bench.run()
        #expect(bench.world.journal.breaches.map(\.rule) == [.r10])
    }

    @Test func `a request without information or data has to be finished at once`() {
        let bench = LoaderBench()
        bench.begin(.init(url: LoaderBench.url))
        _ = bench.run()
        #expect(bench.journal == [])
        bench.delegate.isSilent = true
        bench.begin(.init(url: LoaderBench.url))
        _ = bench.run()
        #expect(bench.world.journal.breaches.map(\.rule) == [.l13])
        bench.delegate.letGo()
    }

    @Test func `a probe may be finished without its two bytes`() {
        let bench = LoaderBench()
        bench.delegate.sendsData = false
        bench.begin(.init(url: LoaderBench.url, wantsInformation: true, data: .init(offset: 0, length: 2)))
        #expect(bench.run() == ["finished 100000 public.mp3", "accepted"])
        #expect(bench.journal == [])
    }

    @Test func `answers between a cancel and its notification are no breach`() {
        let bench = LoaderBench()
        bench.delegate.isSilent = true
        let transaction = bench.begin(.init(url: LoaderBench.url, data: .init(offset: 0, length: 10)))
        _ = bench.run()
        bench.asset.resourceLoader.cancel(transaction)
        #expect(bench.delegate.waiting[0].isCancelled)
        bench.delegate.waiting[0].dataRequest?.respond(with: Data(count: 10))
        bench.delegate.waiting[0].finishLoading()
        #expect(bench.run() == [])
        #expect(bench.journal == [])
    }

    @Test func `every rule has a test that breaks it`() {
        let tested: Set<ContractRule> = [
            .c8, .c9, .r3, .r2, .r5, .l11, .c16, .c17, .i6, .c18, .c12, .d5, .r6, .h1, .d7, .r10, .l13,
        ]
        #expect(tested == Set(ContractRule.allCases))
    }
}
