package import SpoolCore

/// An archive of `NSKeyedArchiver`: a property list whose objects refer to each other by number.
///
/// The list has the members `$archiver`, `$version`, `$top` and `$objects`. Object 0 stands for
/// nil. An object that is neither plain text nor a number is a dictionary with its class under
/// `$class`. The members of a range are those of `NSRange.swift` and `NSSpecialValue.swift` below
/// `Sources/Foundation` in swiftlang/swift-corelibs-foundation.
///
/// Nothing here follows references on its own, except one step for each call. A circle of
/// references therefore is free.
package struct KeyedArchive: Sendable {
    /// An object of the archive: its number in the table.
    package struct Object: Hashable, Sendable {
        fileprivate let number: Int
    }

    private let table: ArchiveTable
    private let objects: [Int]
    /// The object that was archived.
    package let root: Object

    /// Reads an archive, in the binary format or in XML.
    ///
    /// - Throws: `ParseError` for bytes that are not an archive, or beyond the limits.
    package init(_ bytes: [UInt8], limits: AdoptionLimits) throws(ParseError) {
        guard bytes.count <= limits.archiveBytes else {
            throw ParseError(offset: limits.archiveBytes, expected: "an archive of at most \(limits.archiveBytes) bytes")
        }
        let isBinary = bytes.starts(with: BinaryPropertyList.magic)
        table = try isBinary ? BinaryPropertyList.table(bytes, limits: limits) : XMLPropertyList.table(bytes, limits: limits)
        let isNoArchive = ParseError(offset: 0, expected: "an archive of NSKeyedArchiver")
        guard case .dictionary(let members) = table[table.root], let archiver = members["$archiver"],
            table[archiver] == .text("NSKeyedArchiver"), let top = members["$top"], case .dictionary(let tops) = table[top],
            let list = members["$objects"], case .array(let objects) = table[list], let rootNumber = tops["root"],
            case .reference(let root) = table[rootNumber], objects.indices.contains(root)
        else { throw isNoArchive }
        self.objects = objects
        self.root = Object(number: objects[root])
    }

    /// The member of an object with this name, if it has one.
    package func member(_ name: String, of object: Object) -> Object? {
        guard case .dictionary(let members) = table[object.number], let number = members[name] else { return nil }
        return target(of: number)
    }

    /// The object that the value with this number is, or refers to. Nil stands for nil.
    private func target(of number: Int) -> Object? {
        guard case .reference(let index) = table[number] else { return Object(number: number) }
        guard index > 0, objects.indices.contains(index) else { return nil }
        return Object(number: objects[index])
    }

    /// The text of a string.
    package func text(_ object: Object) -> String? {
        switch table[object.number] {
        case .text(let text): text
        // A mutable string is an object of its own.
        case .dictionary: member("NS.string", of: object).flatMap { if case .text(let text) = table[$0.number] { text } else { nil } }
        default: nil
        }
    }

    /// The value of a whole number.
    package func integer(_ object: Object) -> Int64? {
        switch table[object.number] {
        case .integer(let number): number
        case .real(let number): Int64(exactly: number)
        default: nil
        }
    }

    /// The values of a list that an object has under this name.
    private func list(_ name: String, of object: Object) -> [Int]? {
        guard case .dictionary(let members) = table[object.number], let number = members[name], case .array(let list) = table[number]
        else { return nil }
        return list
    }

    /// The number of elements or members of a container; 0 for any other object.
    package func count(_ object: Object?) -> Int { object.flatMap { list("NS.objects", of: $0) }?.count ?? 0 }

    /// The elements of an array or a set.
    package func elements(_ object: Object) -> [Object]? { list("NS.objects", of: object)?.compactMap(target) }

    /// The texts of a dictionary under their names. Other values are left out.
    package func texts(_ object: Object) -> [(name: String, value: String)]? {
        guard let names = list("NS.keys", of: object), let contents = list("NS.objects", of: object), names.count == contents.count
        else { return nil }
        return zip(names, contents).compactMap { name, content in
            guard let name = target(of: name).flatMap(text), let value = target(of: content).flatMap(text) else { return nil }
            return (name, value)
        }
    }

    /// The text of a URL without a base.
    package func url(_ object: Object) -> String? {
        guard member("NS.base", of: object) == nil else { return nil }
        return member("NS.relative", of: object).flatMap(text)
    }

    /// The location and length of a range.
    package func range(_ object: Object) -> (location: Int64, length: Int64)? {
        guard let location = member("NS.rangeval.location", of: object).flatMap(integer),
            let length = member("NS.rangeval.length", of: object).flatMap(integer)
        else { return nil }
        return (location, length)
    }
}
