import SpoolCore
import SpoolStore

/// The name of a blob. Serial numbers grow over all blobs of a place, so that no name comes twice.
enum BlobName: Hashable {
    /// Bytes of a generation.
    case bytes(BlobPiece, of: GenerationID)
    /// The entry of a key, of which the greatest serial number counts.
    case entry(serial: Int64)
    /// The last generation number that a process gave away.
    case lastGeneration(GenerationID, serial: Int64)

    var serial: Int64 {
        switch self {
        case .bytes(let piece, _): piece.serial
        case .entry(let serial), .lastGeneration(_, let serial): serial
        }
    }

    var text: String {
        switch self {
        case .bytes(let piece, let generation):
            "d-\(generation.rawValue)-\(piece.range.lowerBound)-\(piece.range.upperBound)-\(piece.check)-\(piece.serial)"
        case .entry(let serial): "e-\(serial)"
        case .lastGeneration(let generation, let serial): "n-\(generation.rawValue)-\(serial)"
        }
    }

    /// Reads a name, or returns nil for that of a blob which is not the store's.
    init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        let numbers = parts.dropFirst().compactMap { Int64($0) }.filter { $0 >= 0 && $0 < ByteRange.maximumOffset }
        guard numbers.count == parts.count - 1 else { return nil }
        switch (parts.first, numbers.count) {
        case ("d", 5):
            guard let piece = BlobPiece(numbers[1], numbers[2], check: numbers[3], serial: numbers[4]) else { return nil }
            self = .bytes(piece, of: GenerationID(rawValue: numbers[0]))
        case ("e", 1): self = .entry(serial: numbers[0])
        case ("n", 2): self = .lastGeneration(GenerationID(rawValue: numbers[0]), serial: numbers[1])
        default: return nil
        }
        // One blob has one name.
        guard self.text == text else { return nil }
    }
}

/// Bytes that were written as one blob. They lie in one block.
struct BlobPiece: Hashable {
    /// The bytes of the generation.
    var range: ByteRange
    /// Their CRC32C.
    var check: UInt32
    var serial: Int64
}

extension BlobPiece {
    /// Creates a piece from the numbers of a name or an entry, or returns nil if there is no such
    /// piece.
    init?(_ lower: Int64, _ upper: Int64, check: Int64, serial: Int64) {
        guard let range = ByteRange(lower, upper), upper <= ByteRange.maximumOffset, range.blockCount == 1,
            let check = UInt32(exactly: check)
        else { return nil }
        self.init(range: range, check: check, serial: serial)
    }
}
