import SpoolCore
import SpoolManifests

/// The part of another origin than the fixed one that the path of a manifest's child opens.
enum ChildScope {
    /// The URL itself.
    case resource
    /// The URL and everything below its directory: a manifest, a base or a template, whose relative
    /// references lead there.
    case directory

    /// Returns the beginning of a path and query that the scope covers.
    func covered(of target: String) -> Substring {
        guard self == .directory else { return target[...] }
        // The parts of a template begin with a dollar sign.
        let path = target.prefix { $0 != "?" && $0 != "$" }
        return path[...(path.lastIndex(of: "/") ?? path.startIndex)]
    }
}

extension ManifestReference.Role {
    /// Whether the named resource has references of its own, or is the base of others.
    var namesFurther: Bool {
        switch self {
        case .segment, .part, .hint, .map, .index, .key, .sessionData: false
        case .playlist, .steering, .interstitialAsset, .assetList, .renditionReport, .base, .patch, .fragment: true
        }
    }
}

/// The proof that a manifest of a fixed origin named a URL of another origin: a digest of the
/// beginning of the URL, and the length of that beginning.
///
/// A player may write a URL with other escapes than its manifest. So both are about the *plain*
/// URL, in which only delimiters are escaped.
struct ChildProof: Equatable {
    /// Returns the digest of the beginning of a plain URL. No client can make it.
    typealias Digest = ([UInt8]) -> UInt64

    private let digest: UInt64
    /// The number of bytes of the plain URL that the proof covers.
    private let length: Int

    /// Creates the proof for everything that begins with `url`, a text of the form
    /// `scheme/authority/path?query`.
    init(_ url: [UInt8], _ digest: Digest) {
        let plain = Self.plain(url)
        (self.digest, length) = (digest(plain), plain.count)
    }

    /// Appends the proof as a segment of a path: 16 hexadecimal digits, a minus and the length.
    func append(to path: inout [UInt8]) {
        let digits = ((digest >> 32).hexDigits.bigEndian, (digest & 0xFFFF_FFFF).hexDigits.bigEndian)
        withUnsafeBytes(of: digits) { path += $0 }
        path.append(UInt8(ascii: "-"))
        path.append(digitsOf: length)
    }

    /// Splits a path into a proof and the text behind it, or returns nil for another path.
    static func split(_ path: Substring) -> (proof: ChildProof, rest: Substring)? {
        guard let slash = path.firstIndex(of: "/"), let dash = path[..<slash].lastIndex(of: "-"),
            let digest = UInt64(path[..<dash], radix: 16), let length = Int(path[path.index(after: dash)..<slash]), length > 0
        else { return nil }
        var text: [UInt8] = []
        let proof = ChildProof(digest, length)
        proof.append(to: &text)
        // Numbers have other texts, too.
        return text.elementsEqual(path[..<slash].utf8) ? (proof, path[path.index(after: slash)...]) : nil
    }

    private init(_ digest: UInt64, _ length: Int) { (self.digest, self.length) = (digest, length) }

    /// Whether the proof is valid for the URL in `rest`.
    func covers(_ rest: Substring, _ digest: Digest) -> Bool {
        let plain = Self.plain(Array(rest.utf8))
        guard let covered = covered(of: plain), self == ChildProof(digest(Array(covered)), length) else { return false }
        let more = plain[covered.endIndex...]
        if more.isEmpty { return true }
        // Players add parameters, such as delivery directives, to the URL of a resource.
        guard covered.last == UInt8(ascii: "/") else {
            return more.first == (covered.contains(UInt8(ascii: "?")) ? UInt8(ascii: "&") : UInt8(ascii: "?"))
        }
        // No path leads out of an origin.
        return covered.count { $0 == UInt8(ascii: "/") } == 2 || !Self.mayLeaveDirectory(more)
    }

    /// Whether the proof is for a directory that the URL in `rest` lies in.
    func coversDirectory(of rest: Substring) -> Bool { covered(of: Self.plain(Array(rest.utf8)))?.last == UInt8(ascii: "/") }

    private func covered(of plain: [UInt8]) -> ArraySlice<UInt8>? { length <= plain.count ? plain[..<length] : nil }

    /// Whether a segment may be `.` or `..` for the origin, also where that reads an escaped
    /// delimiter as one, or ends a segment at a delimiter or a blank. A name that begins with a dot
    /// is none.
    private static func mayLeaveDirectory(_ path: ArraySlice<UInt8>) -> Bool {
        // Each byte is a character here: in UTF-8, a mark that joins the next character would hide a
        // slash.
        let characters = path.lazy.prefix { $0 != UInt8(ascii: "?") }.map { Character(Unicode.Scalar($0)) }
        let segments = String(characters).replacing("%2F", with: "/").replacing("%5C", with: "/").split(separator: "/")
        return segments.contains { segment in
            let name = segment.utf8.drop { $0 == UInt8(ascii: ".") }
            guard let first = name.first, name.count < segment.utf8.count else { return segment.first == "." }
            return !(first.isLetter || first.isDigit || first == UInt8(ascii: "_") || first == UInt8(ascii: "-"))
        }
    }

    /// Returns the bytes of a URL in which the delimiters alone are escaped.
    private static func plain(_ url: [UInt8]) -> [UInt8] {
        let percent = UInt8(ascii: "%"), backslash = UInt8(ascii: "\\")
        guard url.withUnsafeBytes({ $0.firstIndex(of: percent, backslash, backslash, from: 0) }) != nil else { return url }
        var result: [UInt8] = []
        var rest = url[...]
        while let byte = rest.popFirst() {
            guard byte != backslash else {
                result += "%5C".utf8
                continue
            }
            guard byte == percent, let high = rest.first?.hexValue, let low = rest.dropFirst().first?.hexValue else {
                result.append(byte)
                continue
            }
            let value = high << 4 | low
            rest = rest.dropFirst(2)
            let isDelimiter = ["/", "?", "#", "%", "&", "\\"].contains(Unicode.Scalar(value))
            result += isDelimiter ? Array([value].percentEncoded { _ in true }.utf8) : [value]
        }
        return result
    }
}

extension UInt64 {
    /// The eight digits of a number of 32 bits in base 16, the first in the highest byte.
    fileprivate var hexDigits: UInt64 {
        var digits = (self << 16 | self) & 0x0000_FFFF_0000_FFFF
        digits = (digits << 8 | digits) & 0x00FF_00FF_00FF_00FF
        digits = (digits << 4 | digits) & 0x0F0F_0F0F_0F0F_0F0F
        // A digit from 10 on becomes a letter, 39 places behind the other digits.
        let letters = (digits + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return digits + 0x3030_3030_3030_3030 + letters * 39
    }
}

extension [UInt8] {
    /// Appends the digits of a number in base 10.
    fileprivate mutating func append(digitsOf number: Int) {
        if number > 9 { append(digitsOf: number / 10) }
        append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
    }
}
