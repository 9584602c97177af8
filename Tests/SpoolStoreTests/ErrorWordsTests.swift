import SpoolCore
import SpoolStore
import SpoolSystem
import Testing

/// A store's errors and notes in a log are single lines of plain words, without Swift's debug
/// representation of a value.
struct ErrorWordsTests {
    private static let key = ResourceKey(normalized: "http://example.com/a?token=secret")
    private static let system = SystemError(code: 28, operation: "pwrite", subject: "a file")

    static let errors: [StoreError] = [
        .full, .locked(by: 7), .locked(by: nil), .corrupt(key, ByteRange(lower: 0, upper: 5)), .formatTooNew(found: 9, supported: 5),
        .formatTooOld(found: 5, supported: 9),
        .closed,
        .suspended, .readOnly, .key(.missing), .key(.wrong), .key(.notEncrypted), .key(.unavailable("no such item")), .transformFailed,
        .index(code: 1, message: "no such table"), .io(system),
    ]

    static let notes: [RecoveryNote] = [
        .indexSetAside(path: "spool.sqlite.damaged-1", reason: "no such table"), .indexDamaged(reason: "a page is used twice"),
        .unsyncedDropped(generations: 1), .dataFileMissing(key), .dataFileTruncated(key, size: 4096), .rowUnreadable,
        .rotationUnfinished(plainBytes: 0), .rotationUnfinished(plainBytes: 1000),
        .notPunched(GenerationID(rawValue: 3), "no holes here"), .fileLeftBehind(path: "data/1.bin", system),
    ]

    @Test func `errors and notes of a store are lines of plain words`() {
        for text in Self.errors.map({ "\($0)" }) + Self.notes.map({ "\($0)" }) {
            #expect(!text.contains("\n") && !text.contains("Spool") && !text.contains("secret"), "\(text)")
            #expect(text.contains(" "), "the text has words, not only the name of a case: \(text)")
        }
    }
}
