import SpoolCore
import Testing

/// Promised and occupied bytes together never exceed the limits.
@Suite struct RoomLedgerTests {
    @Test func `a ledger promises nothing before its first measurement`() {
        var ledger = RoomLedger<Int>(quotaBytes: 100, minimumFreeBytes: nil)
        #expect(ledger.ask(10, for: 1) == false)
        #expect(ledger.waiting.first?.bytes == 10)
        ledger.looked(occupiedBytes: 0, freeBytes: nil)
        #expect(ledger.shortageBytes <= 0)
        _ = ledger.answerFirst(isGranted: true)
        #expect(ledger.ask(90, for: 0) == true)
        #expect(ledger.ask(1, for: 0) == false)
    }

    @Test func `a promise counts once, before and after the index has its bytes`() {
        var ledger = RoomLedger<Int>(quotaBytes: 100, minimumFreeBytes: nil)
        ledger.looked(occupiedBytes: 40, freeBytes: nil)
        #expect(ledger.ask(50, for: 0) == true)
        ledger.written(50)
        ledger.looked(occupiedBytes: 40, freeBytes: nil)
        #expect(ledger.ask(20, for: 0) == false, "10 are left")
        #expect(ledger.shortageBytes == 10)
        ledger.settled(50)
        ledger.looked(occupiedBytes: 70, freeBytes: nil)
        #expect(ledger.shortageBytes == -10)
    }

    @Test func `a small request waits behind an earlier large one`() {
        var ledger = RoomLedger<Int>(quotaBytes: 100, minimumFreeBytes: nil)
        ledger.looked(occupiedBytes: 50, freeBytes: nil)
        #expect(ledger.ask(80, for: 1) == false)
        #expect(ledger.ask(1, for: 2) == false)
        #expect(ledger.waiting.map(\.writer) == [1, 2])
        let refused = ledger.answerFirst(isGranted: false)
        #expect(refused?.bytes == 80)
        #expect(ledger.waiting.map(\.bytes) == [1])
        _ = ledger.answerFirst(isGranted: true)
        #expect(ledger.promisedBytes == 1)
    }

    @Test func `free space excludes the disk's minimum and bytes that are being written`() {
        var ledger = RoomLedger<Int>(quotaBytes: nil, minimumFreeBytes: 30)
        ledger.looked(occupiedBytes: 1000, freeBytes: 100)
        #expect(ledger.ask(60, for: 0) == true)
        ledger.looked(occupiedBytes: 1000, freeBytes: 100)
        #expect(ledger.ask(20, for: 0) == false)
        #expect(ledger.shortageBytes == 10)
        ledger.written(60)
        ledger.looked(occupiedBytes: 1060, freeBytes: 40)
        #expect(ledger.shortageBytes == 10)
    }

    @Test func `a ledger without limits keeps no account`() {
        #expect(!RoomLedger<Int>(quotaBytes: nil, minimumFreeBytes: nil).isLimited)
        #expect(RoomLedger<Int>(quotaBytes: 1, minimumFreeBytes: nil).isLimited)
    }
}
