import SpoolCore
public import SpoolStore

/// The rules for every `ResourceStore`, as cases that run on an implementation.
///
/// Each case has a storage of its own, named after the case, and may reopen it after closing it.
///
/// ```swift
/// let contract = StoreContract(isPersistent: false) { (_) throws(StoreError) in MemoryStore() }
/// let violations = contract.violations()  // empty when the store keeps the contract
/// ```
public struct StoreContract {
    /// Opens the store on the storage of that name, creating it if it is missing.
    public typealias Open = (_ storage: String) throws(StoreError) -> any ResourceStore

    private let isPersistent: Bool
    private let open: Open

    /// Creates the contract.
    ///
    /// - Parameters:
    ///   - isPersistent: Whether committed bytes are there again when the storage is reopened.
    ///   - open: Opens the store on a storage.
    public init(isPersistent: Bool, open: @escaping Open) {
        self.isPersistent = isPersistent
        self.open = open
    }

    /// Runs every case.
    ///
    /// - Returns: The violations, in the order of the cases.
    public func violations() -> [ContractViolation] {
        let cases = Self.factCases + Self.pieceCases + Self.generationCases + Self.listingCases + Self.closingCases
        return (cases + (isPersistent ? Self.persistenceCases : [])).flatMap(run)
    }

    private func run(_ rule: Rule) -> [ContractViolation] {
        var trial = StoreTrial(rule: rule.name) { () throws(StoreError) in try open(rule.storage) }
        do throws(StoreError) { try rule.check(&trial) } catch { trial.fail("threw \(error)") }
        return trial.violations
    }

    /// One rule, and the code that tries it.
    struct Rule: Sendable {
        /// The rule, as a short sentence.
        var name: String
        var check: @Sendable (inout StoreTrial) throws(StoreError) -> Void

        /// Creates a rule whose code opens the storage itself.
        init(opening name: String, _ check: @escaping @Sendable (inout StoreTrial) throws(StoreError) -> Void) {
            (self.name, self.check) = (name, check)
        }

        /// Creates a rule for a store on an empty storage.
        init(_ name: String, _ check: @escaping @Sendable (inout StoreTrial, any ResourceStore) throws(StoreError) -> Void) {
            self.init(opening: name) { (trial) throws(StoreError) in try check(&trial, trial.open()) }
        }

        /// Creates a rule for a generation of a sample in a store on an empty storage.
        init(
            storing name: String,
            _ check: @escaping @Sendable (inout StoreTrial, any ResourceStore, StoreSample, GenerationID) throws(StoreError) -> Void
        ) {
            self.init(name) { (trial, store) throws(StoreError) in try check(&trial, store, StoreSample(), store.makeGeneration()) }
        }

        /// The name with hyphens instead of spaces, because it may become a directory.
        var storage: String { String(name.map { $0.isLetter || $0.isNumber ? $0 : "-" }) }
    }
}

/// One run of one rule: the store, and the violations found.
struct StoreTrial {
    private(set) var violations: [ContractViolation] = []
    private let rule: String
    private let openStorage: () throws(StoreError) -> any ResourceStore

    init(rule: String, open: @escaping () throws(StoreError) -> any ResourceStore) {
        self.rule = rule
        openStorage = open
    }

    /// Opens the storage of the trial.
    func open() throws(StoreError) -> any ResourceStore { try openStorage() }

    mutating func fail(_ detail: String) { violations.append(ContractViolation(rule, detail)) }

    mutating func expect(_ isTrue: Bool, _ detail: @autoclosure () -> String) {
        if !isTrue { fail(detail()) }
    }

    mutating func expectEqual<Value: Equatable>(_ found: Value, _ wanted: Value, _ what: String) {
        expect(found == wanted, "\(what): \(found) instead of \(wanted)")
    }

    /// Expects `call` to throw `error`.
    mutating func expectThrows<Value>(_ error: StoreError, from what: String, _ call: @autoclosure () throws(StoreError) -> Value) {
        do throws(StoreError) {
            _ = try call()
            fail("\(what) did not throw \(error)")
        } catch let thrown {
            expectEqual(thrown, error, what)
        }
    }

    /// Expects bytes that were never written to be zeros, or to be unreadable.
    mutating func expectHole(_ file: any DataFile, in offset: Int64, count: Int) throws(StoreError) {
        do throws(StoreError) {
            let found = try file.bytes(at: offset, count: count)
            expect(found.allSatisfy { $0 == 0 }, "bytes \(offset)..<\(offset + Int64(count)) were not written and are not zeros")
        } catch {
            guard case .corrupt = error else { throw error }
        }
    }

    /// Expects the bytes of the range to be those that `StoreSample` makes for the generation.
    mutating func expectPattern(
        _ file: any DataFile, _ sample: StoreSample, _ generation: Int64, in offset: Int64, count: Int
    ) throws(StoreError) {
        let found = try file.bytes(at: offset, count: count)
        expect(found == sample.pattern(generation, at: offset, count: count), "bytes \(offset)..<\(offset + Int64(count)) differ")
    }
}
