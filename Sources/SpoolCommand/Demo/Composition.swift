import SpoolLibc

/// A short piece for a plucked arpeggio, a pad and a bass. Chords repeat in a circle, and each
/// sample comes from tables.
///
/// Sounds are sums of a few harmonics (additive synthesis). The sample of a frame depends on its
/// number only, so a file can be generated from any offset.
struct Composition: Sendable {
    /// The frames from one note of the arpeggio to the next.
    private let step: Int64
    /// The steps for each chord.
    private let stepsPerChord: Int64
    /// The notes in semitones above the lowest A of a piano, lowest note first, four to a chord.
    private let chords: [[Int]]
    /// The note of the chord that each step plucks, and its octave above that note.
    private let pattern: [(note: Int, octave: Int)]
    private let tables = Tables.shared

    static let morning = Composition(
        notesPerMinute: 336, stepsPerChord: 16,
        chords: [[20, 27, 32, 36], [17, 24, 32, 36], [13, 25, 29, 36], [15, 27, 31, 34]],
        pattern: [(0, 2), (2, 1), (1, 2), (3, 1), (2, 2), (1, 2), (3, 1), (2, 1)])
    static let harbour = Composition(
        notesPerMinute: 264, stepsPerChord: 12,
        chords: [[12, 24, 31, 35], [17, 24, 28, 33], [9, 24, 28, 35], [14, 26, 29, 33], [19, 26, 29, 35]],
        pattern: [(0, 2), (1, 1), (2, 1), (3, 1), (1, 2), (2, 1), (2, 2), (3, 1), (2, 1), (1, 1), (3, 1), (1, 2)])
    static let orbit = Composition(
        notesPerMinute: 180, stepsPerChord: 16,
        chords: [[17, 29, 32, 39], [13, 29, 32, 36], [20, 27, 32, 36], [15, 27, 34, 36]],
        pattern: [(0, 2), (3, 1), (1, 2), (2, 1), (1, 1), (3, 1), (2, 2), (1, 1)])

    private init(notesPerMinute: Int64, stepsPerChord: Int64, chords: [[Int]], pattern: [(note: Int, octave: Int)]) {
        step = Int64(WaveHeader.framesPerSecond) * 60 / notesPerMinute
        self.stepsPerChord = stepsPerChord
        self.chords = chords
        self.pattern = pattern
    }

    /// Returns the two samples of a frame. The piece fades in and out with the file of `count`
    /// frames.
    func frame(_ frame: Int64, of count: Int64) -> (left: Int16, right: Int16) {
        var left: Int64 = 0, right: Int64 = 0
        addPlucks(frame, &left, &right)
        addChord(frame, &left, &right)
        let fade = Self.fade(frame, of: count)
        return (Int16(clamping: (left * fade) >> 15), Int16(clamping: (right * fade) >> 15))
    }

    // MARK: Voices

    /// The number of notes that ring at once.
    private static let ringing: Int64 = 4
    /// Two milliseconds, because a note without an attack would click.
    private static let attackFrames: Int64 = 88

    private func addPlucks(_ frame: Int64, _ left: inout Int64, _ right: inout Int64) {
        let current = frame / step
        for index in max(0, current - Self.ringing + 1)...current {
            let age = frame - index * step
            let level = Int64(tables.pluck[Int(age * Int64(Tables.size) / (step * Self.ringing))])
            let attack = min(age, Self.attackFrames)
            let voice = ((wave(tables.bright, pluckedNote(index), age) * level) >> 15) * attack / Self.attackFrames
            // Notes move from side to side, so that each has its own place.
            let pan = (index * 5) % 8
            left += (voice * (12 - pan)) >> 5
            right += (voice * (5 + pan)) >> 5
        }
    }

    private func pluckedNote(_ index: Int64) -> Int {
        let place = pattern[Int(index % Int64(pattern.count))]
        return chord(index / stepsPerChord)[place.note] + 12 * place.octave
    }

    /// Adds pad and bass. They swell and fade within each chord, so that chords change in silence.
    private func addChord(_ frame: Int64, _ left: inout Int64, _ right: inout Int64) {
        let (index, age) = frame.quotientAndRemainder(dividingBy: step * stepsPerChord)
        let chord = chord(index)
        let level = Int64(tables.swell[Int(age * Int64(Tables.size) / (step * stepsPerChord))])
        let bass = (wave(tables.soft, chord[0], frame) * level) >> 15
        let low = (wave(tables.soft, chord[1] + 12, frame) * level) >> 15
        let high = (wave(tables.soft, chord[2] + 12, frame) * level) >> 15
        left += (bass * 5 + low * 3 + high * 2) >> 5
        right += (bass * 5 + low * 2 + high * 3) >> 5
    }

    private func chord(_ index: Int64) -> [Int] { chords[Int(index % Int64(chords.count))] }

    private func wave(_ table: [Int16], _ note: Int, _ frame: Int64) -> Int64 {
        let phase = UInt32(truncatingIfNeeded: frame) &* tables.increments[note]
        return Int64(table[Int(phase >> Tables.shift)])
    }

    private static func fade(_ frame: Int64, of count: Int64) -> Int64 {
        let frames = Int64(WaveHeader.framesPerSecond) * 2
        return min(frame, count - 1 - frame, frames) * 32_767 / frames
    }
}

/// The values that are computed once: waves, envelopes and pitches.
private struct Tables {
    static let size = 4096
    /// The shift from a 32-bit phase to an index.
    static let shift: UInt32 = 20
    static let shared = Tables()

    /// One period of the sound of a plucked string, and of a flute.
    let bright = wave([1, 0.45, 0.22, 0.12, 0.05])
    let soft = wave([1, 0.18, 0.08])
    /// An envelope that decays over the table.
    let pluck = curve { exp(-5 * $0) * (1 - $0) }
    /// An envelope that rises and falls over the table.
    let swell = curve { sin($0 * Double.pi).squareRoot() * 0.9 }
    /// The change of a note's phase in one frame, where a period is 2³².
    let increments = (0..<88).map { note in
        UInt32(27.5 * pow(2, Double(note) / 12) / Double(WaveHeader.framesPerSecond) * 4_294_967_296)
    }

    private static func wave(_ harmonics: [Double]) -> [Int16] {
        let loudness = harmonics.reduce(0, +)
        return curve { turn in
            harmonics.enumerated().reduce(0) { $0 + $1.element * sin(2 * .pi * turn * Double($1.offset + 1)) } / loudness
        }
    }

    private static func curve(_ value: (Double) -> Double) -> [Int16] {
        (0..<size).map { Int16(value(Double($0) / Double(size)) * 32_767) }
    }
}
