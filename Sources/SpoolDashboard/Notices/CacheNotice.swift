package import SpoolCore

/// An event for people: what happened, to which resource, and why.
package struct CacheNotice: Hashable, Sendable {
    /// The kind of a notice. Programs compare its name.
    package enum Kind: String, CaseIterable, Sendable {
        /// Bytes are passed on without being stored.
        case notStored
        /// Bytes left the store to make room.
        case evicted
        /// The proxy refused a request.
        case refused
        /// A request to an origin failed.
        case originFailed
        /// Stored bytes differ from their checksums. They are fetched again when they are needed.
        case damaged
        /// The origin has another version.
        case changed
        /// The origin no longer has the resource.
        case gone
        /// Stored bytes were served although the origin could not confirm them.
        case unconfirmed
        /// A fetch waits for the network policy, or a preload or download for a player or a
        /// command.
        case paused
        /// A fetch that waited goes on.
        case resumed
        /// An attempt of a download ended.
        case downloadFailed
        /// The store failed or repaired something, or rests.
        case store
        /// This process became the writer of the store.
        case becameWriter
        /// The bucket failed, serves again, or has other bytes than were stored there.
        case bucket
    }

    /// The kind.
    package var kind: Kind
    /// The resource, or nil if it concerns none.
    package var key: ResourceKey?
    /// The reason in words, or nil if the kind is all that there is to say.
    package var because: String?
    /// The number of bytes that were evicted or damaged, or nil.
    package var bytes: Int64?

    /// Creates a notice.
    package init(_ kind: Kind, _ key: ResourceKey? = nil, because: String? = nil, bytes: Int64? = nil) {
        (self.kind, self.key, self.because, self.bytes) = (kind, key, because, bytes)
    }

    /// Creates the notice of an event, or nil for an event of every day: those of readers, of
    /// requests that succeed, and of what a command did.
    package init?(of event: CacheEvent) {
        switch event {
        case .readerJoined, .fetchStarted, .fetchMeasured, .bytesCommitted, .fetchEnded(_, _, nil), .removed: return nil
        case .fetchEnded(let key, _, let reason?): self.init(.originFailed, key, because: reason)
        case .degradedToPassthrough(let key, let reason): self.init(.notStored, key, because: reason)
        case .evicted(let key, let bytes, let cause): self.init(.evicted, key, because: "\(cause)", bytes: bytes)
        case .damageFound(let key, let bytes): self.init(.damaged, key, bytes: bytes)
        case .representationReplaced(let key, _, _): self.init(.changed, key)
        case .gone(let key, _): self.init(.gone, key)
        case .usedUnvalidated(let key, let reason): self.init(.unconfirmed, key, because: reason)
        case .networkRefused(let key, let reason): self.init(.paused, key, because: reason)
        case .networkPermitted(let key): self.init(.resumed, key, because: "the network is permitted again")
        case .becameWriter: self.init(.becameWriter)
        case .storeRests(let seconds): self.init(.store, because: "it failed repeatedly, and rests for \(seconds) seconds")
        case .storeTrouble(let what): self.init(.store, because: what)
        case .bypassChanged(let isBypassed, let reason):
            self.init(.store, because: "\(isBypassed ? "players load originals" : "players come through the cache again"): \(reason)")
        case .tier(let event):
            guard event.level >= .notice else { return nil }
            self.init(.bucket, event.key, because: event.sentence)
        }
    }
}

/// The last notices of a cache, the newest first: a bounded list without a clock.
package struct NoticeList: Sendable {
    /// The most notices in the list. A screen shows fewer, and a person reads no more.
    package static let limit = 50
    /// The most characters of a reason.
    package static let reasonLimit = 300

    /// A notice with the times at which it happened.
    package struct Entry: Hashable, Sendable {
        package var notice: CacheNotice
        /// The number of times that it happened.
        package var count = 1
        /// The last of these times.
        package var time: Timestamp
    }

    /// The entries, the newest first.
    package private(set) var entries: [Entry] = []
    /// The number of notices so far.
    package private(set) var changes: Int64 = 0
    /// The number of notices so far, by kind.
    package private(set) var counts: [CacheNotice.Kind: Int64] = [:]

    /// Creates an empty list.
    package init() {}

    /// Adds a notice. One that is in the list already moves to its beginning and is counted there,
    /// with the sum of the bytes. So a resource that is played a hundred times and not stored is
    /// one entry.
    package mutating func add(_ notice: CacheNotice, at time: Timestamp) {
        changes += 1
        counts[notice.kind, default: 0] += 1
        var entry = Entry(notice: notice, time: time)
        entry.notice.because = notice.because.map { String($0.prefix(Self.reasonLimit)) }
        if let index = entries.firstIndex(where: { $0.notice.isLike(entry.notice) }) {
            let old = entries.remove(at: index)
            entry.count = old.count + 1
            if let bytes = entry.notice.bytes { entry.notice.bytes = bytes + (old.notice.bytes ?? 0) }
        } else if entries.count == Self.limit {
            entries.removeLast()
        }
        entries.insert(entry, at: 0)
    }
}

extension CacheNotice {
    /// Whether both have the same kind, resource and reason.
    fileprivate func isLike(_ other: CacheNotice) -> Bool { kind == other.kind && key == other.key && because == other.because }
}
