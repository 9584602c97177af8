extension HTTPFields {
    /// What the lines of a field say that is no list (RFC 9110 §5.3).
    package enum Single: Hashable, Sendable {
        /// There is no such line.
        case absent
        /// All lines say this.
        case one(String)
        /// The lines differ: the field says nothing that can be relied on.
        case conflicting

        /// The value that all lines agree on, nil when there is none.
        package var value: String? {
            if case .one(let value) = self { value } else { nil }
        }
    }

    /// The value of a field that is no list.
    package func single(_ name: String) -> Single {
        var found: String?
        for line in lines where line.name.equalsIgnoringCase(name) {
            guard let first = found else {
                found = line.value
                continue
            }
            guard line.value.utf8.elementsEqual(first.utf8) else { return .conflicting }
        }
        return found.map { .one($0) } ?? .absent
    }
}
