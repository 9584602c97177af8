/// The fields of a response that are stored with its bytes and passed on later (RFC 9111 §3.1).
///
/// Left out are fields that belong to one message or one connection: those that `Connection` lists,
/// the framing, the position of a part, and proxy fields. Also left out are cookies, which are for
/// one user and one moment, and the fields that `no-cache` or `private` names. Lines beyond
/// `maxStoredFieldBytes` in all are left out too; those that caching needs are kept first. The
/// fields of the origin, and not these, decide whether a response may be stored at all.
package func storedFields(of fields: HTTPFields) -> HTTPFields {
    let named = namedByConnection(of: fields).union(namedByCacheControl(of: fields))
    let kept = fields.lines.filter { line in
        !isAlwaysDropped(line.name) && !line.name.hasPrefixIgnoringCase("proxy-")
            && (named.isEmpty || !named.contains(line.name.asciiLowercased))
    }
    return HTTPFields(withinCap(kept))
}

/// The fields of a response that only the client gets whose request it answers: cookies (RFC 9111
/// §7.3), and those that `no-cache` or `private` names (§5.2.2.4, §5.2.2.7).
func fieldsForAsker(of fields: HTTPFields) -> HTTPFields {
    let named = namedByCacheControl(of: fields), ofConnection = namedByConnection(of: fields)
    let lines = fields.lines.filter { line in
        if line.isNamed(.setCookie) { return true }
        let name = line.name.asciiLowercased
        return named.contains(name) && !isAlwaysDropped(name) && !name.hasPrefix("proxy-") && !ofConnection.contains(name)
    }
    return HTTPFields(lines)
}

/// The most bytes of fields that are stored for a response: names, values and four more for each
/// line.
package let maxStoredFieldBytes = 65_536

/// The fields that `Connection` excludes from storing, in lower case.
private func namedByConnection(of fields: HTTPFields) -> Set<String> {
    // A request to drop the fields that identify the bytes makes no sense and is ignored.
    Set(fields.names(listedIn: .connection)).subtracting(essential)
}

/// The fields that `Cache-Control` excludes from storing, in lower case.
private func namedByCacheControl(of fields: HTTPFields) -> Set<String> {
    let control = CacheControl(fields)
    return Set(
        [control.noCache, control.private].flatMap { scope -> [String] in if case .fields(let names) = scope { names } else { [] } })
}

private func withinCap(_ lines: [HTTPFields.Field]) -> [HTTPFields.Field] {
    guard lines.reduce(0, { $0 + $1.storedBytes }) > maxStoredFieldBytes else { return lines }
    var left = maxStoredFieldBytes
    var kept = Set<Int>()
    for isFirstPass in [true, false] {
        for (index, line) in lines.enumerated() where line.isEssential == isFirstPass {
            let cost = line.storedBytes
            guard cost <= left else { continue }
            left -= cost
            kept.insert(index)
        }
    }
    return lines.indices.filter(kept.contains).map { lines[$0] }
}

private let alwaysDropped = [
    "connection", "content-length", "content-range", "keep-alive", "set-cookie", "set-cookie2", "te", "trailer",
    "transfer-encoding", "upgrade",
]

private func isAlwaysDropped(_ name: String) -> Bool {
    alwaysDropped.contains { $0.equalsIgnoringCase(name) }
}

/// The fields that later responses, freshness and revalidation depend on.
private let essential = [
    "age", "cache-control", "content-encoding", "content-type", "date", "etag", "expires", "last-modified", "vary",
]

extension HTTPFields.Field {
    fileprivate var isEssential: Bool { essential.contains { $0.equalsIgnoringCase(name) } }
    fileprivate var storedBytes: Int { name.utf8.count + value.utf8.count + 4 }
}
