/// A Matroska file with one track of pictures and one of sound, one cluster a second.
struct MatroskaModel {
    var seconds = 30
    /// The bytes of the frames of one cluster.
    var clusterBytes = 2000
    /// Whether segment and clusters state no size, as in a live stream.
    var isLive = false
    /// The place of the cue points.
    var cues = Place.tail

    enum Place { case head, tail, none }

    private static let cueBytes = 600

    /// An element with a size of eight bytes.
    static func element(_ id: Int, _ content: [UInt8], isOpen: Bool = false) -> [UInt8] {
        let idBytes = big(id, id > 0xFF_FFFF ? 4 : id > 0xFFFF ? 3 : id > 0xFF ? 2 : 1)
        return idBytes + (isOpen ? [0x01] + [UInt8](repeating: 0xFF, count: 7) : [0x01] + big(content.count, 7)) + content
    }

    private static func track(_ number: Int, kind: Int) -> [UInt8] {
        element(0xAE, element(0xD7, [UInt8(number)]) + element(0x83, [UInt8(kind)]))
    }

    func cluster(_ second: Int) -> [UInt8] {
        let half = clusterBytes / 4
        func block(_ track: UInt8, _ ticks: Int) -> [UInt8] { Self.element(0xA3, [0x80 | track] + big(ticks, 2) + [0x80] + zeros(half)) }
        let group = Self.element(0xA0, Self.element(0xA1, [0x82] + big(500, 2) + [0] + zeros(half)))
        return Self.element(
            0x1F43_B675, Self.element(0xE7, big(second * 1000, 3)) + block(1, 0) + block(2, 0) + block(1, 500) + group, isOpen: isLive)
    }

    private func seekHead(cuesAt place: Int) -> [UInt8] {
        Self.element(0x114D_9B74, Self.element(0x4DBB, Self.element(0x53AB, big(0x1C53_BB6B, 4)) + Self.element(0x53AC, big(place, 8))))
    }

    var file: [UInt8] {
        let information = Self.element(0x1549_A966, Self.element(0x2AD7B1, big(1_000_000, 4)))
        let tracks = Self.element(0x1654_AE6B, Self.track(1, kind: 1) + Self.track(2, kind: 2) + Self.track(3, kind: 17))
        let index = cues == .none ? [] : Self.element(0x1C53_BB6B, zeros(Self.cueBytes))
        let clusters = (0..<seconds).flatMap(cluster)
        let seekBytes = cues == .none ? 0 : seekHead(cuesAt: 0).count
        let head = information + tracks
        let place = seekBytes + head.count + (cues == .tail ? clusters.count : 0)
        let content =
            (cues == .none ? [] : seekHead(cuesAt: place)) + head + (cues == .head ? index : []) + clusters + (cues == .tail ? index : [])
        return Self.element(0x1A45_DFA3, zeros(20)) + Self.element(0x1853_8067, content, isOpen: isLive)
    }
}
