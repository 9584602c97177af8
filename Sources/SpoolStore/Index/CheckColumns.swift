/// The columns of a row of pieces that contain its checks: one for CRC32Cs, or one for nonces and
/// one for tags.
struct CheckColumns {
    var checks: [UInt8]?
    var nonce: [UInt8]?
    var tag: [UInt8]?

    /// Whether the row has no checks at all.
    var isEmpty: Bool { checks == nil && nonce == nil && tag == nil }

    /// The checks, or nil when the columns are empty or their contents are not valid.
    var pieceChecks: PieceChecks? {
        switch (checks, nonce, tag) {
        case (let checks?, nil, nil):
            guard !checks.isEmpty, checks.count % PieceChecks.Kind.crc32c.byteCount == 0 else { return nil }
            return PieceChecks(.crc32c, checks)
        case (nil, let nonce?, let tag?):
            let count = nonce.count / PieceChecks.nonceBytes
            guard count > 0, nonce.count == count * PieceChecks.nonceBytes, tag.count == count * PieceChecks.tagBytes else { return nil }
            var bytes: [UInt8] = []
            for block in 0..<count {
                bytes += nonce[block * PieceChecks.nonceBytes..<(block + 1) * PieceChecks.nonceBytes]
                bytes += tag[block * PieceChecks.tagBytes..<(block + 1) * PieceChecks.tagBytes]
            }
            return PieceChecks(.sealed, bytes)
        default: return nil
        }
    }
}

extension CheckColumns {
    init(_ checks: PieceChecks?) {
        self.init()
        switch checks?.kind {
        case .crc32c: self.checks = checks?.bytes
        case .sealed:
            let blocks = checks.map { checks in (0..<checks.count).map { checks[$0] } } ?? []
            nonce = blocks.flatMap { $0.prefix(PieceChecks.nonceBytes) }
            tag = blocks.flatMap { $0.suffix(PieceChecks.tagBytes) }
        case nil: break
        }
    }
}
