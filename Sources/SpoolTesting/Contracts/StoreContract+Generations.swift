import SpoolCore
import SpoolStore

// Rules on generations: each has bytes of its own, and a retired one does not return.

extension StoreContract {
    static let generationCases: [Rule] = [
        Rule("a new generation retires the old one, whose open file can still be read") { (trial, store) throws(StoreError) in
            var sample = StoreSample()
            let old = store.makeGeneration()
            let oldFile = try sample.store([0..<1000], of: old, in: store)
            sample.representation.validator = .strong(entityTag: "\"v2\"")
            let new = store.makeGeneration()
            let newFile = try sample.store([0..<10], of: new, in: store)
            let found = try store.lookup(sample.key)
            trial.expectEqual(found?.generation, new, "generation")
            trial.expectEqual(found?.spans, .of(0..<10), "spans")
            trial.expectEqual(found?.representation.validator, .strong(entityTag: "\"v2\""), "validator")
            trial.expectEqual(try store.count(), 1, "count")
            try trial.expectPattern(oldFile, sample, old.rawValue, in: 0, count: 1000)
            try trial.expectPattern(newFile, sample, new.rawValue, in: 0, count: 10)
        },
        Rule(storing: "a retired generation does not come back") { (trial, store, sample, old) throws(StoreError) in
            let oldFile = try sample.store([0..<1000], of: old, in: store)
            let new = store.makeGeneration()
            let newFile = try sample.store([0..<10], of: new, in: store)
            try sample.store([1000..<2000], of: old, in: store)
            let found = try store.lookup(sample.key)
            trial.expectEqual(found?.generation, new, "generation")
            trial.expectEqual(found?.spans, .of(0..<10), "spans")
            withExtendedLifetime((oldFile, newFile)) {}
        },
        Rule(storing: "a generation that was overtaken before its first commit enters nothing") {
            (trial, store, sample, slow) throws(StoreError) in
            let fast = store.makeGeneration()
            let file = try sample.store([0..<10], of: fast, in: store)
            try store.commit(sample.commit(slow))
            trial.expectEqual(try store.lookup(sample.key)?.generation, fast, "generation")
            withExtendedLifetime(file) {}
        },
        Rule("a removed resource is gone, and its open file can still be read and written") { (trial, store) throws(StoreError) in
            let sample = StoreSample(), other = StoreSample("other")
            let generation = store.makeGeneration()
            let file = try sample.store([0..<100], of: generation, in: store)
            try store.commit(other.commit(store.makeGeneration()))
            trial.expect(try store.remove(sample.key), "removing answers false")
            trial.expect(try store.lookup(sample.key) == nil, "it is still there")
            trial.expect(try !store.remove(sample.key), "removing again answers true")
            trial.expect(try store.lookup(other.key) != nil, "another resource went too")
            try trial.expectPattern(file, sample, generation.rawValue, in: 0, count: 100)
            // A fetch that is under way goes on for its readers, but the bytes that it writes are
            // not stored.
            try sample.store([100..<200], of: generation, in: store)
            trial.expect(try store.lookup(sample.key) == nil, "a late commit brought it back")
            try trial.expectPattern(file, sample, generation.rawValue, in: 100, count: 100)
        },
        Rule(storing: "a resource that was removed can be stored again") { (trial, store, sample, first) throws(StoreError) in
            let oldFile = try sample.store([0..<100], of: first, in: store)
            _ = try store.remove(sample.key)
            let second = store.makeGeneration()
            trial.expect(first != second, "the same number twice")
            let newFile = try sample.store([50..<60], of: second, in: store)
            trial.expectEqual(try store.lookup(sample.key)?.spans, .of(50..<60), "spans")
            try trial.expectHole(newFile, in: 0, count: 50)
            try trial.expectPattern(oldFile, sample, first.rawValue, in: 0, count: 100)
        },
        Rule("removing all leaves nothing, not even what is being fetched") { (trial, store) throws(StoreError) in
            let films = (0..<5).map { StoreSample("film-\($0)") }
            var files: [any DataFile] = []
            for film in films.dropLast() { files.append(try film.store([0..<10], of: store.makeGeneration(), in: store)) }
            let pending = store.makeGeneration()
            files.append(try store.dataFile(of: pending, key: films[4].key, fileExtension: "mp4"))
            try store.removeAll()
            trial.expectEqual(try store.count(), 0, "count")
            trial.expectEqual(try store.resources(after: nil, limit: 10).count, 0, "listed")
            try films[4].store([0..<10], of: pending, in: store)
            trial.expect(try store.lookup(films[4].key) == nil, "a fetch that was under way came back")
            try films[0].store([0..<10], of: store.makeGeneration(), in: store)
            trial.expectEqual(try store.count(), 1, "count after storing again")
            withExtendedLifetime(files) {}
        },
        Rule("generation numbers grow") { (trial, store) throws(StoreError) in
            let numbers = (0..<1000).map { _ in store.makeGeneration() }
            trial.expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }, "they do not")
        },
    ]
}
