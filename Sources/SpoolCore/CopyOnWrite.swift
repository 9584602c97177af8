/// A value behind a reference: a copy costs one count, however many references the value itself has, and the first change of a shared one
/// copies it.
///
/// For values of many parts that are read all the time and change seldom. Members are read and changed as if they were its own.
@dynamicMemberLookup
package struct CopyOnWrite<Value> {
    @usableFromInline
    final class Box {
        @usableFromInline var value: Value

        @usableFromInline init(_ value: Value) { self.value = value }
    }

    @usableFromInline var box: Box

    @inlinable package init(_ value: Value) { box = Box(value) }

    package var value: Value {
        @inlinable get { box.value }
        @inlinable _modify {
            if !isKnownUniquelyReferenced(&box) { box = Box(box.value) }
            yield &box.value
        }
    }

    @inlinable package subscript<Member>(dynamicMember path: KeyPath<Value, Member>) -> Member { box.value[keyPath: path] }

    @inlinable package subscript<Member>(dynamicMember path: WritableKeyPath<Value, Member>) -> Member {
        get { box.value[keyPath: path] }
        _modify { yield &value[keyPath: path] }
    }
}

extension CopyOnWrite: Equatable where Value: Equatable {
    package static func == (a: Self, b: Self) -> Bool { a.box === b.box || a.box.value == b.box.value }
}

extension CopyOnWrite: Hashable where Value: Hashable {
    package func hash(into hasher: inout Hasher) { hasher.combine(box.value) }
}

// Safe to share: a box that two values have is only read.
extension CopyOnWrite.Box: @unchecked Sendable where Value: Sendable {}
extension CopyOnWrite: Sendable where Value: Sendable {}
