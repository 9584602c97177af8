import SpoolCore

/// Keeps the buffer between its marks while the media plays.
extension MediaFeeder {
    /// The tracks, once the length is known.
    var tracks: [ByteRange] { length.map { media.tracks(length: $0) } ?? [] }

    /// The byte of `track` at the playing position.
    func offset(in track: ByteRange) -> Int64 {
        track.lowerBound + min(track.count, Int64(Double(track.count) * position))
    }

    /// The end of the bytes of `track` that can be played from here without a stop.
    func buffered(_ track: ByteRange) -> Int64 {
        let offset = offset(in: track)
        guard offset < track.upperBound else { return track.upperBound }
        return have.prefix(from: offset, upTo: track.upperBound)?.upperBound ?? offset
    }

    /// The position up to which playback needs no stop, as a part of the whole.
    var bufferedPosition: Double {
        tracks.map { track in
            let buffered = buffered(track)
            return buffered >= track.upperBound ? 1 : Double(buffered - track.lowerBound) / Double(track.count)
        }.min() ?? 1
    }

    var isBufferedToEnd: Bool { tracks.allSatisfy { buffered($0) >= $0.upperBound } }

    /// The least number of bytes that are read ahead in any track.
    var aheadBytes: Int64 { tracks.map { buffered($0) - offset(in: $0) }.min() ?? 0 }

    private var trackCount: Int64 { Int64(max(1, tracks.count)) }
    // Apart by a few bytes at least. Otherwise a position between two bytes could stop and begin a
    // request endlessly.
    private var highWater: Int64 { max(16, min(habits.highWaterBytes, limitBytes ?? .max) / trackCount) }
    private var lowWater: Int64 { max(2, min(habits.lowWaterBytes / trackCount, highWater - 1)) }

    /// Whether the buffer is full.
    var isFull: Bool { isBufferedToEnd || aheadBytes >= highWater }

    /// Whether there are enough bytes to begin, or to go on without a stop soon.
    var isLikelyToKeepUp: Bool { isBufferedToEnd || aheadBytes >= lowWater }

    func lookTracks() {
        guard let length else { return }
        for (index, track) in tracks.enumerated() { look(at: track, index, length) }
    }

    private func look(at track: ByteRange, _ index: Int, _ length: Int64) {
        let buffered = buffered(track), ahead = buffered - offset(in: track)
        if let number = number(of: .track(index)) {
            // A request that reaches the track's end goes on only if the resource ends there, too.
            let isDone = buffered >= track.upperBound && track.upperBound < length
            let isFar = ahead >= highWater && (!habits.isGreedy || limitBytes != nil)
            if isDone || isFar { takeBack(number) }
            return
        }
        guard buffered < track.upperBound, ahead <= lowWater, mayAsk else { return }
        if information?.isEntireLengthAvailableOnDemand == true { return readOnDemand(buffered, track, index) }
        askToEnd(.track(index), from: buffered, length)
    }

    /// R9: makes small reads, just in time.
    private func readOnDemand(_ offset: Int64, _ track: ByteRange, _ index: Int) {
        ask(.track(index), LoadingAsk.Data(offset: offset, length: Int(min(habits.onDemandBytes, track.upperBound - offset))))
    }

    // MARK: Seeking

    /// Plays from `position` on. Requests without use there are cancelled in the habit's order.
    func seek(to position: Double) {
        self.position = position
        hasEnded = false
        kick()
        guard case .ready = phase, let length else { return }
        if !habits.keepsPlayed { have = have.intersection(ByteRangeSet(media.headers(length: length))) }
        for (index, track) in tracks.enumerated() { seek(in: track, index, length) }
    }

    private func seek(in track: ByteRange, _ index: Int, _ length: Int64) {
        let old = number(of: .track(index))
        let target = buffered(track)
        // The player sometimes keeps a request that will soon bring the target, as the real player
        // is reported to do.
        if let old, let ask = asks[old], ask.next <= target, target - ask.next < habits.pageBytes { return }
        if habits.cancelOrder == .cancelFirst, let old { takeBack(old) }
        if let old, habits.cancelOrder != .cancelFirst { asks[old]?.isForgotten = true }
        if target < track.upperBound, mayAsk, information?.isEntireLengthAvailableOnDemand != true {
            askToEnd(.track(index), from: target, length)
        }
        if habits.cancelOrder == .newFirst, let old { takeBack(old) }
        limitForgotten()
    }

    /// C4: leaves a few requests open, then cancels the oldest.
    private func limitForgotten() {
        let maxForgotten = 5
        let forgotten = asks.filter(\.value.isForgotten).keys.sorted()
        for number in forgotten.dropLast(maxForgotten) { takeBack(number) }
    }
}
