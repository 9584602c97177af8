/// A task for the shell that follows from an event.
package enum SessionAction: Hashable, Sendable {
    /// Look up the resource in the index and call `opened` with the result.
    case open
    /// Start an origin request.
    case start(FetchID, OriginAsk)
    /// Offer the body again.
    case resume(FetchID)
    /// Tell the transfer the urgency of its readers: `FetchState.isUnread` has changed.
    case prioritize(FetchID)
    /// End the transfer. The machine expects no further event of it.
    case cancel(FetchID)
    /// End the transfer after it has offered the bytes that have arrived already. `finished`
    /// follows.
    case stop(FetchID)
    /// Notify a waiting reader that it can go on.
    case wake(ReaderID)
    /// Call `timePassed` at this moment. It replaces the moment set before.
    case setTimer(MonotonicInstant)
    /// Compare stored bytes of the generation with their checksums and call `verified` with the
    /// result.
    case verify(ByteRange, GenerationID)
    /// Remove stored bytes of the generation from the index. From now on they are a gap.
    case discard(ByteRangeSet, GenerationID)
    /// Free the memory of this fetch below the offset.
    case release(FetchID, below: Int64)
    /// Note that another version became current. Its bytes and those of the old one never mix.
    case versionChanged(from: GenerationID?, to: GenerationID)
    /// Commit the representation: the length or the fields of the current version changed.
    case representationUpdated
    /// Note that a reader uses stored bytes although the origin could not confirm them.
    case usedUnvalidated(OriginError)
    /// Delete the stored bytes of this generation: the origin no longer has the resource.
    case gone(GenerationID)
    /// Delete the stored bytes of this generation: they cannot be completed, because nothing ties
    /// further bytes to them.
    case unfinished(GenerationID)
    /// Release the file of this body apart, if it has one: its last reader has left.
    case pastOver(GenerationID)
    /// Stop serving this version, because the origin contradicted it. Its index entry stays.
    case forgotten(GenerationID)
    /// Note that the version cannot or must not be stored.
    case passing(NotStoredReason)
    /// Note that a fetch is over. The error is nil when it succeeded or was cancelled.
    case ended(FetchID, OriginError?)
}

extension [SessionAction] {
    // Most parts of an event produce no action. Appending an empty array costs as much as appending
    // a full one, so these operators skip it.

    static func += (actions: inout Self, more: Self) {
        if actions.isEmpty { actions = more } else if !more.isEmpty { actions.append(contentsOf: more) }
    }

    static func + (actions: Self, more: Self) -> Self {
        var all = actions
        all += more
        return all
    }
}
