/// The fields of a response that are kept with its bytes and passed on later (RFC 9111 §3.1).
///
/// Left out are those that belong to one message or one connection: what `Connection` lists, the framing, the position
/// of a part, proxy fields; cookies, which are for one user and one moment; and fields that `no-cache` or `private` names.
/// Lines beyond `maxStoredFieldBytes` in all are left out too, those that a cache lives by last of all.
/// Whether a response may be stored at all is decided on the origin's fields, not on these.
package func storedFields(of fields: HTTPFields) -> HTTPFields {
    let named = namedForDropping(by: fields)
    let kept = fields.lines.filter { line in
        !isAlwaysDropped(line.name) && !line.name.hasPrefixIgnoringCase("proxy-")
            && (named.isEmpty || !named.contains(line.name.asciiLowercased))
    }
    return HTTPFields(withinCap(kept))
}

/// The most that is kept of a response's fields, in bytes: names, values and four more for each line.
package let maxStoredFieldBytes = 65_536

/// The fields that a message's own fields say are not for keeping, in lower case.
private func namedForDropping(by fields: HTTPFields) -> Set<String> {
    var names: Set<String> = []
    for line in fields.values(of: "Connection") {
        // Nearly every response says one of these, and nothing more.
        if line.equalsIgnoringCase("close") || isAlwaysDropped(line) { continue }
        for name in line.utf8.split(separator: .comma) {
            names.insert(String(decoding: name.filter { !$0.isWhitespace }, as: UTF8.self).asciiLowercased)
        }
    }
    // `Connection: close` and the like name an option; a wish to drop what identifies the bytes is nonsense.
    if !names.isEmpty { names.subtract(essential) }
    let control = CacheControl(fields)
    for scope in [control.noCache, control.private] {
        if case .fields(let listed) = scope { names.formUnion(listed) }
    }
    return names
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

/// What later answers, freshness and revalidation stand on.
private let essential = [
    "age", "cache-control", "content-encoding", "content-type", "date", "etag", "expires", "last-modified", "vary",
]

extension HTTPFields.Field {
    fileprivate var isEssential: Bool { essential.contains { $0.equalsIgnoringCase(name) } }
    fileprivate var storedBytes: Int { name.utf8.count + value.utf8.count + 4 }
}
