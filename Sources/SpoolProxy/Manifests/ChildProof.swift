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
struct ChildProof {
    private let digest: Substring
    /// The number of bytes of the plain URL that the proof covers.
    private let length: Int

    /// Creates the proof for everything that begins with `covered`, a text of the form
    /// `scheme/authority/path?query`.
    init(_ covered: String, _ proof: (String) -> String) {
        let plain = Self.plain(covered[...])
        digest = Substring(proof(plain))
        length = plain.utf8.count
    }

    /// The proof as a segment of a path.
    var text: String { "\(digest)-\(length)" }

    /// Splits a path into a proof and the text behind it, or returns nil for another path.
    static func split(_ path: Substring) -> (proof: ChildProof, rest: Substring)? {
        guard let slash = path.firstIndex(of: "/"), let dash = path[..<slash].lastIndex(of: "-") else { return nil }
        let digits = path[path.index(after: dash)..<slash]
        guard let length = Int(digits), length > 0, String(length) == digits else { return nil }
        return (ChildProof(path[..<dash], length), path[path.index(after: slash)...])
    }

    private init(_ digest: Substring, _ length: Int) { (self.digest, self.length) = (digest, length) }

    /// Whether the proof is valid for the URL in `rest`.
    func covers(_ rest: Substring, _ proof: (String) -> String) -> Bool {
        let plain = Self.plain(rest)
        guard let covered = covered(of: plain), constantTimeEqual(digest, proof(String(covered))) else { return false }
        let more = plain[covered.endIndex...]
        if more.isEmpty { return true }
        // Players add parameters, such as delivery directives, to the URL of a resource.
        guard covered.last == "/" else { return more.first == (covered.contains("?") ? "&" : "?") }
        return !Self.mayLeaveDirectory(more)
    }

    /// Whether the proof is for a directory that the URL in `rest` lies in.
    func coversDirectory(of rest: Substring) -> Bool { covered(of: Self.plain(rest))?.last == "/" }

    private func covered(of plain: String) -> Substring? {
        guard length <= plain.utf8.count else { return nil }
        return plain[..<plain.utf8.index(plain.startIndex, offsetBy: length)]
    }

    /// Whether a segment begins with a dot, also where the origin reads an escaped delimiter as
    /// one.
    private static func mayLeaveDirectory(_ path: Substring) -> Bool {
        let path = "/" + path.prefix { $0 != "?" }
        return path.replacing("%2F", with: "/").replacing("%5C", with: "/").contains("/.")
    }

    /// Returns a URL in ASCII in which the delimiters alone stay escaped. Other bytes have the
    /// character of the same number.
    private static func plain(_ url: Substring) -> String {
        var copy = url
        let isPlain = copy.withUTF8 { $0.allSatisfy { $0 < 0x80 && $0 != UInt8(ascii: "%") && $0 != UInt8(ascii: "\\") } }
        if isPlain { return String(url) }
        var result = String.UnicodeScalarView()
        var rest = url.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\") {
                result.append(contentsOf: "%5C".unicodeScalars)
            } else if byte == UInt8(ascii: "%"), let high = rest.first?.hexValue, let low = rest.dropFirst().first?.hexValue {
                let value = high << 4 | low
                rest = rest.dropFirst(2)
                let isDelimiter = ["/", "?", "#", "%", "&", "\\"].contains(Unicode.Scalar(value))
                let text = isDelimiter ? [value].percentEncoded { _ in true } : String(Unicode.Scalar(value))
                result.append(contentsOf: text.unicodeScalars)
            } else {
                result.append(Unicode.Scalar(byte))
            }
        }
        return String(result)
    }
}
