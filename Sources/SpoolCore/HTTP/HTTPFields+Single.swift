extension HTTPFields {
    /// The value of a field that is not a list and so has one value at most (RFC 9110 §5.3).
    package enum Single: Hashable, Sendable {
        /// The field is absent.
        case absent
        /// All lines of the field have this value.
        case one(String)
        /// The lines differ, so the field has no reliable value.
        case conflicting

        /// The value that all lines share, if there is one.
        package var value: String? {
            if case .one(let value) = self { value } else { nil }
        }
    }

    /// Returns the value of a field that is not a list.
    package func single(_ name: Name) -> Single {
        var found: String?
        for line in lines where line.isNamed(name) {
            guard let first = found else {
                found = line.value
                continue
            }
            guard line.value.utf8.elementsEqual(first.utf8) else { return .conflicting }
        }
        return found.map { .one($0) } ?? .absent
    }
}
