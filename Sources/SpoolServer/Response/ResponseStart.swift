import SpoolSystem

/// The first bytes of a response with a source: the head, alone or with the beginning of the body.
///
/// A head that is sent alone wakes a client that waits for bytes. The client may then take the core
/// that the loop needs to send them.
enum ResponseStart {
    /// The head alone.
    case head
    /// Head and body bytes side by side, valid until the next response of any connection.
    case gathered(UnsafeRawBufferPointer)
    /// The head stays in the kernel until the bytes of the chunk follow. They leave in one segment,
    /// which saves both sides a segment.
    case joined(SendingState.FileChunk)

    /// The size in bytes up to which a body is copied behind its head. Larger bodies are sent from
    /// their place.
    static var inlineBodyBytes: Int { 16 * 1024 }

    /// The largest body, in pages, that is sent in one segment with its head. A segment holds at
    /// most 17 pages (`MAX_SKB_FRAGS`, linux/skbuff.h), and the head takes one. A larger body would
    /// need one segment more with its head than without it.
    fileprivate static var joinedPages: Int { 16 }
    fileprivate static var joinedBodyBytes: Int { joinedPages * SendingState.FileChunk.pageBytes }
}

extension ServerLoop {
    /// Chooses the first bytes of a response whose head is in `headBuffer`.
    func start(of source: any BodySource, _ framing: BodyFraming) -> ResponseStart {
        startWithMemory(of: source, framing) ?? startWithFile(of: source, framing) ?? .head
    }

    /// Copies the beginning of a body that is in memory behind the head.
    private func startWithMemory(of source: any BodySource, _ framing: BodyFraming) -> ResponseStart? {
        let most = framing.demand(Self.gatheredBodyBytes)
        guard headBuffer.count <= Self.gatheredHeadBytes, source.beginsInMemory, !framing.isChunked, !framing.isSent,
            case .memory(let bytes) = source.next(max: most), !bytes.isEmpty
        else { return nil }
        let first = bytes.prefix(most)
        first.withBytes { gatheredBody($0.count).copyMemory(from: $0) }
        return .gathered(putHead(before: first.count))
    }

    /// Chooses the start of a body that is one piece of a file in memory.
    private func startWithFile(of source: any BodySource, _ framing: BodyFraming) -> ResponseStart? {
        guard let remaining = framing.remaining, remaining > 0, remaining <= ResponseStart.joinedBodyBytes,
            case .file(let descriptor, let offset, let count, let keepAlive) = source.next(max: Int(remaining)), count == remaining
        else { return nil }
        let chunk = SendingState.FileChunk(descriptor: descriptor, offset: offset, count: count, keepAlive: keepAlive)
        if let bytes = gather(chunk) { return .gathered(bytes) }
        guard chunk.pages <= ResponseStart.joinedPages, isResident(descriptor, offset, count) else { return nil }
        return .joined(chunk)
    }

    /// Reads a small body behind its head. One call then sends both: two system calls instead of
    /// four.
    private func gather(_ chunk: SendingState.FileChunk) -> UnsafeRawBufferPointer? {
        guard headBuffer.count <= Self.gatheredHeadBytes, chunk.count <= ResponseStart.inlineBodyBytes,
            options.coldReads?.readsSmallFiles != false
        else { return nil }
        let read = withExtendedLifetime(chunk.keepAlive) {
            readResident(descriptor: chunk.descriptor, into: gatheredBody(chunk.count), offset: chunk.offset)
        }
        guard read == chunk.count else { return nil }
        return putHead(before: chunk.count)
    }

    /// The place of a body of `count` bytes, which begins a page.
    private func gatheredBody(_ count: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: gathering[Self.gatheredHeadBytes...].prefix(count))
    }

    /// Copies the head before a body of `count` bytes, and returns both.
    private func putHead(before count: Int) -> UnsafeRawBufferPointer {
        let start = Self.gatheredHeadBytes - headBuffer.count
        UnsafeMutableRawBufferPointer(rebasing: gathering[start...]).copyMemory(from: headBuffer.bytes)
        return UnsafeRawBufferPointer(rebasing: gathering[start..<Self.gatheredHeadBytes + count])
    }
}
