import SpoolAdoption
import SpoolCore
import Testing

/// Archives that no library writes.
@Suite(.timeLimit(.minutes(20))) struct ArchiveTests {
    private let limits = AdoptionLimits()

    /// A binary property list of these objects, whose references have one byte.
    private func list(_ objects: [[UInt8]], root: UInt8 = 0) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for object in objects {
            offsets += Self.pair(bytes.count)
            bytes += object
        }
        let table = bytes.count
        bytes += offsets + [0, 0, 0, 0, 0, 0, 2, 1]
        for number in [objects.count, Int(root), table] { bytes += [0, 0, 0, 0, 0, 0] + Self.pair(number) }
        return bytes
    }

    private static func pair(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }

    private func text(_ text: String) -> [UInt8] {
        text.utf8.count < 15 ? [0x50 | UInt8(text.utf8.count)] + text.utf8 : [0x5F, 0x10, UInt8(text.utf8.count)] + text.utf8
    }

    /// The objects of an archive whose list of objects has one value, the number 8 below.
    private func archive(_ value: [UInt8], _ more: [UInt8]...) -> [UInt8] {
        list(
            [
                [0xD3, 1, 2, 3, 4, 5, 6], text("$archiver"), text("$top"), text("$objects"), text("NSKeyedArchiver"), [0xD1, 7, 9],
                [0xA2, 10, 8], text("root"), value, [0x80, 1], text("$null"),
            ] + more)
    }

    private func failure(_ bytes: [UInt8], limits: AdoptionLimits = AdoptionLimits()) -> ParseError? {
        do throws(ParseError) {
            _ = try KeyedArchive(bytes, limits: limits)
            return nil
        } catch { return error }
    }

    @Test func `numbers and texts of each size are read`() throws {
        let numbers: [([UInt8], Int64)] = [
            ([0x10, 0xFF], 255), ([0x11, 1, 0], 256), ([0x12, 0x80, 0, 0, 0], 1 << 31),
            ([0x13, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE], -2),
        ]
        for (bytes, value) in numbers {
            let archive = try KeyedArchive(archive(bytes), limits: limits)
            #expect(archive.integer(archive.root) == value)
        }
        let wide = try KeyedArchive(archive([0x62, 0x00, 0xE9, 0x26, 0x0E]), limits: limits)
        #expect(wide.text(wide.root) == "é☎")
        let long = String(repeating: "x", count: 40)
        let narrow = try KeyedArchive(archive(text(long)), limits: limits)
        #expect(narrow.text(narrow.root) == long)
        let number = try KeyedArchive(archive([0x23, 0x41, 0x20, 0, 0, 0, 0, 0, 0]), limits: limits)
        #expect(number.integer(number.root) == 524288)
    }

    @Test func `values that contain themselves are refused, and shared ones are not`() {
        #expect(failure(archive([0xA1, 8]))?.expected == "values that do not contain themselves")
        #expect(failure(archive([0xA1, 11], [0xA1, 8])) != nil)
        #expect(failure(archive([0xA3, 11, 11, 11], [0xA2, 12, 12], text("x"))) == nil)
    }

    @Test func `values that double at each level cost what they are, and deep ones are refused`() {
        // Each level has the next one 14 times: 14 to the 40th values, in 40 objects.
        let levels: [[UInt8]] = (0..<40).map { [0xAE] + [UInt8](repeating: $0 + 12, count: 14) } + [text("x")]
        let bytes = archiveOf(levels: levels)
        #expect(failure(bytes) == nil)
        var limits = AdoptionLimits()
        limits.depth = 20
        #expect(failure(bytes, limits: limits)?.expected == "at most 20 levels of values")
        limits = AdoptionLimits()
        limits.references = 100
        #expect(failure(bytes, limits: limits) != nil)
        limits = AdoptionLimits()
        limits.values = 20
        #expect(failure(bytes, limits: limits) != nil)
        limits = AdoptionLimits()
        limits.textBytes = 10
        #expect(failure(bytes, limits: limits) != nil)
    }

    private func archiveOf(levels: [[UInt8]]) -> [UInt8] {
        list(
            [
                [0xD3, 1, 2, 3, 4, 5, 6], text("$archiver"), text("$top"), text("$objects"), text("NSKeyedArchiver"), [0xD1, 7, 9],
                [0xA2, 10, 8], text("root"), [0xA1, 11], [0x80, 1], text("$null"),
            ] + levels)
    }

    @Test func `sizes and offsets outside the file are refused`() {
        let whole = archive(text("x"))
        #expect(failure(whole) == nil)
        for count in 0..<whole.count { #expect(failure(Array(whole[..<count])) != nil, "\(count) bytes") }
        for place in (whole.count - 26)..<whole.count {
            for value: UInt8 in [0, 0x7F, 0xFF] {
                var bytes = whole
                bytes[place] = value
                _ = failure(bytes)
            }
        }
        let huge: [[UInt8]] = [
            [0xAF, 0x13, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0x5F, 0x12, 0xFF, 0xFF, 0xFF, 0xFF],
            [0x6F, 0x13, 0x40, 0, 0, 0, 0, 0, 0, 0], [0xDF, 0x13, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0xAF, 0x50], [0x1F],
            [0x8F],
            [0xA1, 200], [0xD1, 6, 6],
        ]
        for object in huge { #expect(failure(archive(object)) != nil, "\(object)") }
    }

    @Test func `references that lead in a circle end`() throws {
        // The objects 1 and 2 of the archive are each other's class.
        let archive = try KeyedArchive(
            list([
                [0xD3, 1, 2, 3, 4, 5, 6], text("$archiver"), text("$top"), text("$objects"), text("NSKeyedArchiver"), [0xD1, 7, 9],
                [0xA3, 10, 8, 12], text("root"), [0xD1, 11, 13], [0x80, 1], text("$null"), text("$class"), [0xD1, 11, 9], [0x80, 2],
            ]), limits: limits)
        let other = try #require(archive.member("$class", of: archive.root))
        #expect(archive.member("$class", of: other) == archive.root)
    }

    @Test(arguments: [
        "<plist><string>x</string>", "<plist><dict><key>a</key></dict></plist>", "<plist><integer>x</integer></plist>",
        "<!DOCTYPE plist [<!ENTITY a \"b\">]><plist><string>&a;</string></plist>", "<plist><string>&a;</string></plist>",
        "<plist><string>&#xD800;</string></plist>", "<plist><array><string>x</array></plist>", "<plist><!-- </plist>", "<", "<plist/>",
        "</plist>",
    ])
    func `XML that is no property list is refused`(text: String) { #expect(failure(Array(text.utf8)) != nil) }

    @Test func `deep XML and JSON is refused`() {
        let xml = "<plist>" + String(repeating: "<array>", count: 10_000)
        #expect(failure(Array(xml.utf8))?.expected == "at most 64 nested elements")
        let json = #"{"fragments":"# + String(repeating: "[", count: 100_000)
        #expect(throws: ForeignRefusal.self) {
            try GSPlayerStore.read(Array(json.utf8), path: "a.mp4.cfg", map: AdoptionMap(), files: [:], limits: limits)
        }
    }

    @Test(arguments: [
        "a", "a\tb", "/a\thttp://a.example/", "../a\thttp://a.example/", "a//b\thttp://a.example/", "a\thttp://a.example/\tsize=1",
        "a\thttp://a.example/\tlength=-1", "a\thttp://a.example/\tetag=x", "a\thttp://a.example/\ttype=", "a\tftp://a.example/",
        "a\thttp://a.example/1\na\thttp://a.example/2",
    ])
    func `a mapping file of another form is refused`(text: String) {
        #expect(throws: ParseError.self) { try AdoptionMap(Array(text.utf8), limits: limits) }
    }
}
