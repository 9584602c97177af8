import Testing

/// The rules for arithmetic on numbers that come from the network or the disk. A sum that overflows
/// ends the process, and one that wraps leads to wrong bytes. Such sums saturate or throw
/// (`Int64+Saturating.swift`), or the types of their operands have a bound.
struct ForeignNumberTests {
    /// The code that reads such numbers, or computes with them.
    private static let readers = [
        "Sources/SpoolManifests/", "Sources/SpoolDASH/", "Sources/SpoolMedia/", "Sources/SpoolAdoption/", "Sources/SpoolCore/HTTP/",
        "Sources/SpoolServer/Request/", "Sources/SpoolStore/Index/", "Sources/SpoolTiers/Bucket/",
        "Sources/Spool/Preload/", "Sources/Spool/Presentation/", "Sources/SpoolProxy/Manifests/", "Sources/SpoolCommand/Commands/",
        "Sources/SpoolCommand/Terminal/", "Sources/SpoolCommand/Top/",
    ]

    /// A directory or a file, and the reason why a rule does not apply to it.
    struct Exception: Sendable {
        var place: String
        var reason: String
    }

    /// The bounded types.
    static let boundedArithmetic = [
        Exception(place: "Sources/SpoolMedia/", reason: "KnownBytes, Box and MatroskaElement refuse offsets and sizes beyond 2^60"),
        Exception(place: "Sources/SpoolCore/HTTP/HTTPDate", reason: "a calendar computes with fields of two and four digits"),
        Exception(place: "Sources/SpoolCore/HTTP/RangeHeader.swift", reason: "the parser clamps positions and counts to 2^60"),
        Exception(place: "Sources/SpoolServer/Request/RepeatedRequest.swift", reason: "a number has at most 18 digits"),
        Exception(place: "Sources/SpoolTiers/Bucket/", reason: "BucketManifest refuses objects beyond maximumObjectBytes"),
        Exception(place: "Sources/SpoolStore/Index/PieceRow.swift", reason: "a byte range ends at Int64.max, and its group begins before"),
        Exception(place: "Sources/SpoolStore/Index/Tables/PieceTable", reason: "the bounds of a byte range are checked when a row is read"),
        Exception(place: "Sources/SpoolStore/Index/StoreIndex+Durability.swift", reason: "numberLimit bounds numbers of generations"),
        Exception(place: "Sources/SpoolStore/Index/IndexRotation.swift", reason: "numberLimit bounds numbers of generations"),
    ]

    /// Hashes, checksums and counters that go around on purpose, and tricks with the bits of a
    /// word.
    static let wrapping = [
        Exception(place: "Sources/SpoolAdoption/Archives/MD5.swift", reason: "a digest"),
        Exception(place: "Sources/SpoolProxy/Manifests/SipHash.swift", reason: "a message code"),
        Exception(place: "Sources/SpoolSystem/Process/Random.swift", reason: "a generator of random numbers"),
        Exception(place: "Sources/SpoolSystem/Files/ResidentRegions.swift", reason: "a hash"),
        Exception(place: "Sources/SpoolSystem/Loop/Registrations.swift", reason: "a counter that goes around"),
        Exception(place: "Sources/SpoolSystem/Loop/TimerHeap.swift", reason: "a counter that goes around"),
        Exception(place: "Sources/SpoolCore/URI/ASCIIScan.swift", reason: "eight bytes in one word"),
        Exception(place: "Sources/SpoolServer/Response/HeadBuffer.swift", reason: "the digits of a number, in a hot loop"),
        Exception(place: "Sources/SpoolCommand/Demo/Composition.swift", reason: "the phase of a tone"),
        Exception(place: "Sources/Rangeable/", reason: "a version that goes around"),
        Exception(place: "Sources/Intervals/", reason: "an index inside of a node, and a number of elements that is one too many"),
        Exception(place: "Sources/SpoolTesting/", reason: "no shipped code"),
    ]

    /// Indices that cannot leave what they index.
    static let indexing = [
        Exception(place: "Sources/SpoolMedia/KnownBytes.swift", reason: "the piece was chosen because it has the position"),
        Exception(place: "Sources/SpoolManifests/ManifestReferences.swift", reason: "the table made its own indices"),
        Exception(place: "Sources/SpoolProxy/Manifests/ManifestResponse.swift", reason: "RangeHeader clamps ranges to the body"),
        Exception(place: "Sources/SpoolCore/HTTP/HTTPDate.swift", reason: "the fields of a calendar"),
        Exception(place: "Sources/SpoolCommand/Terminal/FullScreen.swift", reason: "a constant of the terminal"),
    ]

    /// Traps on facts that no foreign byte can change.
    static let trapping = [
        Exception(place: "Sources/SpoolStore/Index/Tables/ResourceTable.swift", reason: "SQLite returns the number of an inserted row"),
        Exception(place: "Sources/SpoolStore/Index/IndexRotation.swift", reason: "the caller has the keys"),
        Exception(place: "Sources/SpoolStore/Index/StoreIndex+Durability.swift", reason: "the order of the caller's own steps"),
        Exception(place: "Sources/SpoolCore/HTTP/RangeHeader.swift", reason: "a position of the caller"),
        Exception(place: "Sources/SpoolCore/HTTP/CacheStatus.swift", reason: "a name from the configuration"),
        Exception(place: "Sources/SpoolServer/Request/RequestParser.swift", reason: "limits from the configuration"),
        Exception(place: "Sources/SpoolProxy/Manifests/ManifestLanes.swift", reason: "the lanes of the environment"),
        Exception(place: "Sources/SpoolProxy/Manifests/SipHash.swift", reason: "the key comes from the store's secret"),
    ]

    @Test func `numbers from the network and the disk are added by functions that saturate`() {
        let unambiguous = Self.unambiguousBytes
        let offenders = Self.sources(below: Self.readers, without: Self.boundedArithmetic).flatMap { file in
            let names = Self.declared(["Int64"], in: file).union(unambiguous).subtracting(Self.declared(Self.otherTypes, in: file))
            return file.codePlaces { Self.computes($0, with: names) }
        }
        #expect(offenders == [], "addingSaturated, subtractingSaturated, multipliedSaturated, saturatedSum")
    }

    @Test func `no sum goes around, except in a hash, a checksum or a counter`() {
        let offenders = Self.sources(below: ["Sources/"], without: Self.wrapping).flatMap { file in
            file.codePlaces { line in ["&+", "&-", "&*"].contains { line.contains(" \($0)") } }
        }
        #expect(offenders == [])
    }

    @Test func `a floating-point number becomes a whole one within its bounds`() {
        let offenders = Self.sources(below: ["Sources/"], without: [Exception(place: "Sources/SpoolTesting/", reason: "no shipped code")])
            .flatMap { $0.codePlaces(where: Self.truncates) }
        #expect(offenders == [], "Int64(saturating:)")
    }

    @Test func `code that reads foreign bytes has no trap`() {
        let traps = ["precondition(", "preconditionFailure(", "fatalError(", "try!", "as!", "assertionFailure("]
        let offenders = Self.sources(below: Self.readers, without: Self.trapping).flatMap { file in
            file.codePlaces { line in traps.contains { line.contains($0) } || Self.unwraps(line) }
        }
        #expect(offenders == [], "throw, or end the answer with an error")
    }

    /// A number of 64 bits becomes an index where it is converted. An index that is an `Int` from
    /// the beginning counts what is in memory.
    @Test func `no number from the network or the disk becomes an index`() {
        let offenders = Self.sources(below: Self.readers, without: Self.indexing).flatMap { $0.codePlaces(where: Self.indexes) }
        #expect(offenders == [], "check it against what it indexes first: guard, dropFirst, prefix")
    }

    @Test(arguments: [
        ("let part = bytes[Int(offset)...]", true), ("bytes[..<Int(range.upperBound)]", true), ("a[Int(field) - 1]", true),
        ("digits[Int(byte >> 4)]", false), ("let sizes: [Int]", false), ("[Int](repeating: 0, count: 2)", false),
        ("let all = [Int(length)]", false), ("f([Int(a), b])", false),
    ])
    func `an index that is converted is recognised`(line: String, indexes: Bool) {
        #expect(Self.indexes(line) == indexes)
    }

    @Test func `each exception is used`() {
        let files = PackageDirectory.sources.map(\.path)
        let unused = (Self.boundedArithmetic + Self.wrapping + Self.indexing + Self.trapping).filter { exception in
            !files.contains { $0.hasPrefix(exception.place) }
        }
        #expect(unused.map(\.place) == [])
    }

    @Test(arguments: [
        ("let end = start + length", true), ("sum += result.length", true), ("let all = known.length * 2", true),
        ("rest - (length ?? 0)", true), ("end = length &+ 1", true), ("let wide = Double(length) * 1e9", false),
        ("let text = name + other", false), ("f(-length)", false), ("length.addingSaturated(1)", false), ("bodyLength + 1", false),
    ])
    func `arithmetic on a number is recognised`(line: String, computes: Bool) {
        #expect(Self.computes(line, with: ["length"]) == computes)
    }

    // MARK: Reading Swift by line

    private static func sources(below directories: [String], without exceptions: [Exception]) -> [PackageFile] {
        PackageDirectory.sources.filter { file in
            directories.contains { file.path.hasPrefix($0) } && !exceptions.contains { file.path.hasPrefix($0.place) }
        }
    }

    /// Types of other names than those of numbers from the network and the disk. An index in
    /// memory is an `Int`.
    private static let otherTypes = ["Int", "UInt64", "UInt32", "Double", "String", "Substring", "[UInt8]", "ArraySlice<UInt8>"]

    /// The names that a file declares with one of these types, or makes with their initialisers.
    private static func declared(_ types: [String], in file: PackageFile) -> Set<String> {
        var names = Set<String>()
        for line in file.codeLines where line.contains(": ") || line.contains(" = ") {
            for (mark, ends) in types.flatMap({ [(": \($0)", true), (" = \($0)(", false)] }) where line.contains(mark) {
                for range in line.ranges(of: mark) where !ends || line[range.upperBound...].first.map(isNamePart) != true {
                    names.insert(String(name(before: range.lowerBound, of: line)))
                }
            }
        }
        return names.subtracting([""])
    }

    /// The names of numbers of bytes that are `Int64` wherever they are declared.
    private static var unambiguousBytes: Set<String> {
        let others = Set(PackageDirectory.sources.flatMap { declared(otherTypes, in: $0) })
        return Set(PackageDirectory.sources.flatMap { declared(["Int64"], in: $0) }).filter { $0.hasSuffix("Bytes") }.subtracting(others)
    }

    /// Whether the line has a binary operator of arithmetic with one of the names at its side.
    private static func computes(_ line: String, with names: Set<String>) -> Bool {
        for mark in [" + ", " - ", " * ", " += ", " -= ", " *= ", " &+ ", " &- ", " &* "] where line.contains(mark) {
            for range in line.ranges(of: mark) {
                let right = line[range.upperBound...].drop { $0 == "(" }.prefix { isNamePart($0) || $0 == "." }
                if names.contains(String(name(before: range.lowerBound, of: line))) { return true }
                if names.contains(String(right.split(separator: ".").last ?? "")) { return true }
            }
        }
        return false
    }

    private static func name(before end: String.Index, of line: String) -> Substring {
        let head = line[..<end]
        let length = head.reversed().prefix { isNamePart($0) }.count
        return head.suffix(length)
    }

    private static func isNamePart(_ character: Character) -> Bool { character.isLetter || character.isNumber || character == "_" }

    /// Whether the line makes a whole number of a floating-point one that may be too large.
    private static func truncates(_ line: String) -> Bool {
        guard line.contains("Int(") || line.contains("Int64(") else { return false }
        guard ["saturating:", "exactly:", "clamping:", "truncatingIfNeeded:"].allSatisfy({ !line.contains($0) }) else { return false }
        return line.contains(/\bInt(64)?\(.*(Double\(|\.rounded\(|\b1e9\b)/)
    }

    /// Whether the line converts a number inside the brackets of a subscript. A byte of text is at
    /// most 255, and half of one is the index of a digit.
    private static func indexes(_ line: String) -> Bool {
        line.contains("Int(") && line.contains(/[A-Za-z0-9_)\]?]\[[^\]]*\bInt\((?!byte\b)/)
    }

    /// Whether the line unwraps an optional by force.
    private static func unwraps(_ line: String) -> Bool { line.contains("!") && line.contains(/[A-Za-z0-9_)\]]!(?!=)/) }
}
