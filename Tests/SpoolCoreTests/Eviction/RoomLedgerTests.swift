import SpoolCore
import Testing

/// What is promised and what is there never exceed the limits together.
@Suite struct RoomLedgerTests {
    @Test func `nothing is promised before somebody has looked`() {
        var ledger = RoomLedger(quotaBytes: 100, minimumFreeBytes: nil)
        #expect(ledger.ask(10)?.bytes == 10)
        ledger.looked(occupiedBytes: 0, freeBytes: nil)
        #expect(ledger.shortageBytes <= 0)
        ledger.answerFirst(isGranted: true)
        #expect(ledger.ask(90) == nil)
        #expect(ledger.ask(1) != nil)
    }

    @Test func `a promise counts until the index has its bytes, and then once`() {
        var ledger = RoomLedger(quotaBytes: 100, minimumFreeBytes: nil)
        ledger.looked(occupiedBytes: 40, freeBytes: nil)
        #expect(ledger.ask(50) == nil)
        ledger.written(50)
        ledger.looked(occupiedBytes: 40, freeBytes: nil)
        #expect(ledger.ask(20) != nil, "10 are left")
        #expect(ledger.shortageBytes == 10)
        ledger.settled(50)
        ledger.looked(occupiedBytes: 70, freeBytes: nil)
        #expect(ledger.shortageBytes == -10)
    }

    @Test func `who comes later waits behind who waits, however little it wants`() {
        var ledger = RoomLedger(quotaBytes: 100, minimumFreeBytes: nil)
        ledger.looked(occupiedBytes: 50, freeBytes: nil)
        let large = ledger.ask(80), small = ledger.ask(1)
        #expect(ledger.waiting == [large, small].compactMap { $0 } && ledger.waiting.count == 2)
        ledger.answerFirst(isGranted: false)
        #expect(ledger.waiting.map(\.bytes) == [1])
        ledger.answerFirst(isGranted: true)
        #expect(ledger.promisedBytes == 1)
    }

    @Test func `the disk keeps what is to be left to others, and what is being written counts as gone`() {
        var ledger = RoomLedger(quotaBytes: nil, minimumFreeBytes: 30)
        ledger.looked(occupiedBytes: 1000, freeBytes: 100)
        #expect(ledger.ask(60) == nil)
        ledger.looked(occupiedBytes: 1000, freeBytes: 100)
        #expect(ledger.ask(20) != nil)
        #expect(ledger.shortageBytes == 10)
        ledger.written(60)
        ledger.looked(occupiedBytes: 1060, freeBytes: 40)
        #expect(ledger.shortageBytes == 10)
    }

    @Test func `without limits there is no account to keep`() {
        #expect(!RoomLedger(quotaBytes: nil, minimumFreeBytes: nil).isLimited)
        #expect(RoomLedger(quotaBytes: 1, minimumFreeBytes: nil).isLimited)
    }
}
