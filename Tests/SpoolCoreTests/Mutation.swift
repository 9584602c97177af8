import Testing

/// Calls `body` with every seed text and with `rounds` texts that small random changes make of
/// them. A change flips, inserts, deletes or doubles bytes, joins two texts, or inserts delimiters
/// and huge numbers.
func mutate(_ seeds: [String], rounds: Int = 4000, test: String = #function, _ body: (String) -> Void) {
    var random = SeededGenerator.fromEnvironment(test)
    seeds.forEach(body)
    for _ in 0..<rounds {
        var bytes = Array(seeds.randomElement(using: &random)!.utf8)
        for _ in 0..<Int.random(in: 1...4, using: &random) { change(&bytes, seeds, &random) }
        body(String(decoding: bytes, as: UTF8.self))
    }
}

private let snippets = [
    ",", "=", "-", "/", "*", "\"", "\\", ";", ":", "%", "@", "?", "#", " ", "\t", "\r\n", "\0", "..", "//", "[", "]", "é", "W/",
    "9223372036854775807", "9223372036854775808", "18446744073709551616", "00", "-1", "99999999999999999999999999",
]

private func change(_ bytes: inout [UInt8], _ seeds: [String], _ random: inout SeededGenerator) {
    let place = Int.random(in: 0...bytes.count, using: &random)
    switch Int.random(in: 0...5, using: &random) {
    case 0: if place < bytes.count { bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &random) }
    case 1: if place < bytes.count { bytes.remove(at: place) }
    case 2: bytes.insert(contentsOf: snippets.randomElement(using: &random)!.utf8, at: place)
    case 3: bytes.insert(contentsOf: bytes[place...], at: place)
    case 4: bytes.removeSubrange(place...)
    default: bytes += seeds.randomElement(using: &random)!.utf8
    }
}
