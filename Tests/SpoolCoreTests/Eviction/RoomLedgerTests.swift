import SpoolCore
import Testing

/// Promised and occupied bytes together never exceed the limits.
@Suite struct RoomLedgerTests {
    @Test func `a ledger promises nothing before its first measurement`() {
        var ledger = RoomLedger(quotaBytes: 100, minimumFreeBytes: nil)
        #expect(ledger.ask(10)?.bytes == 10)
        ledger.looked(occupiedBytes: 0, freeBytes: nil)
        #expect(ledger.shortageBytes <= 0)
        ledger.answerFirst(isGranted: true)
        #expect(ledger.ask(90) == nil)
        #expect(ledger.ask(1) != nil)
    }

    @Test func `a promise counts once, before and after the index has its bytes`() {
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

    @Test func `a small request waits behind an earlier large one`() {
        var ledger = RoomLedger(quotaBytes: 100, minimumFreeBytes: nil)
        ledger.looked(occupiedBytes: 50, freeBytes: nil)
        let large = ledger.ask(80), small = ledger.ask(1)
        #expect(ledger.waiting == [large, small].compactMap { $0 } && ledger.waiting.count == 2)
        ledger.answerFirst(isGranted: false)
        #expect(ledger.waiting.map(\.bytes) == [1])
        ledger.answerFirst(isGranted: true)
        #expect(ledger.promisedBytes == 1)
    }

    @Test func `free space excludes the disk's minimum and bytes that are being written`() {
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

    @Test func `a ledger without limits keeps no account`() {
        #expect(!RoomLedger(quotaBytes: nil, minimumFreeBytes: nil).isLimited)
        #expect(RoomLedger(quotaBytes: 1, minimumFreeBytes: nil).isLimited)
    }
}
