import SpoolCore
import SpoolStore

// Rules on listing, closing and reopening a store.

extension StoreContract {
    static let listingCases: [Rule] = [
        Rule("pages list every resource once, in the order of keys' bytes") { (trial, store) throws(StoreError) in
            let keys = ["b", "a", "z", "aa", "Z", "é", "~", "10", "9", "a/b", "日本"]
            for key in keys { try store.commit(StoreSample(key).commit(store.makeGeneration())) }
            let wanted = keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            for limit in [1, 3, keys.count, keys.count + 1] {
                var listed: [String] = []
                while listed.count <= keys.count {
                    let page = try store.resources(after: listed.last.map(ResourceKey.init(normalized:)), limit: limit)
                    trial.expect(page.count <= limit, "a page of \(page.count) with limit \(limit)")
                    if page.isEmpty { break }
                    listed += page.map(\.key.string)
                }
                trial.expectEqual(listed, wanted, "keys in pages of \(limit)")
            }
            trial.expectEqual(try store.resources(after: nil, limit: 0).count, 0, "resources with limit 0")
        },
        Rule("a listing says what a lookup says") { (trial, store) throws(StoreError) in
            let films = ["x", "y"].map { StoreSample($0) }
            var files: [any DataFile] = []
            for film in films { files.append(try film.store([5..<10, 70_000..<80_000], of: store.makeGeneration(), in: store)) }
            for (film, listed) in zip(films, try store.resources(after: nil, limit: 10)) {
                trial.expect(try store.lookup(film.key) == listed, "\(listed)")
            }
            withExtendedLifetime(files) {}
        },
        Rule("the least recently used come first, by touches and commits") { (trial, store) throws(StoreError) in
            let keys = ["a", "b", "c"]
            for key in keys { try store.commit(StoreSample(key).commit(store.makeGeneration())) }
            let samples = keys.map { StoreSample($0) }
            try store.touch([samples[0].key: Timestamp(seconds: 4_000_000_003), samples[1].key: Timestamp(seconds: 4_000_000_001)])
            try store.touch([samples[2].key: Timestamp(seconds: 4_000_000_002)])
            let wanted = [samples[1].key, samples[2].key, samples[0].key]
            let candidates = try store.evictionCandidates(after: nil, largerThan: -1, limit: 10)
            trial.expectEqual(candidates.map(\.key), wanted, "order of use")
            trial.expectEqual(candidates[0].lastAccess, Timestamp(seconds: 4_000_000_001), "time of use")
            let first = try store.evictionCandidates(after: nil, largerThan: -1, limit: 2)
            trial.expectEqual(first.map(\.key), Array(wanted.prefix(2)), "order of use, limited")
            trial.expectEqual(try store.evictionCandidates(after: nil, largerThan: -1, limit: 0), [], "none")
        },
        Rule("candidates for eviction come in pages, each once, also those unused equally long") { (trial, store) throws(StoreError) in
            let samples = (0..<7).map { StoreSample("film-\($0)") }
            for sample in samples { try sample.store([0..<70_000], of: store.makeGeneration(), in: store) }
            try store.touch([samples[3].key: Timestamp(seconds: 1_800_000_000)])
            let all = try store.evictionCandidates(after: nil, largerThan: -1, limit: 100)
            trial.expectEqual(Set(all.map(\.key)), Set(samples.map(\.key)), "candidates")
            trial.expect(all.allSatisfy { $0.length == samples[0].representation.length }, "lengths \(all.map(\.length))")
            for limit in [1, 2, 7] {
                var paged: [EvictionCandidate] = []
                while paged.count <= samples.count {
                    let page = try store.evictionCandidates(after: paged.last, largerThan: -1, limit: limit)
                    if page.isEmpty { break }
                    paged += page
                }
                trial.expectEqual(paged, all, "in pages of \(limit)")
            }
        },
        Rule("evicted blocks are out of the index and free their room; the others stay as they are") { (trial, store) throws(StoreError) in
            let sample = StoreSample()
            let block = Piece.blockBytes
            let generation = store.makeGeneration()
            let file = try sample.store([0..<8 * block], of: generation, in: store)
            let before = try store.totalSizeBytes()
            let isFreed = try store.evict(.of(2 * block..<4 * block, 7 * block..<8 * block), of: generation, in: file)
            trial.expectEqual(try store.lookup(sample.key)?.spans, .of(0..<2 * block, 4 * block..<7 * block), "spans")
            let freed = before - (try store.totalSizeBytes())
            trial.expectEqual(freed, isFreed ? 3 * block : 0, "freed bytes")
            try trial.expectPattern(file, sample, generation.rawValue, in: 0, count: Int(2 * block))
            try trial.expectPattern(file, sample, generation.rawValue, in: 4 * block, count: Int(3 * block))
            try sample.store([2 * block..<4 * block], of: generation, in: store)
            trial.expectEqual(try store.lookup(sample.key)?.spans, .of(0..<7 * block), "spans, stored again")
            try trial.expectPattern(file, sample, generation.rawValue, in: 0, count: Int(7 * block))
        },
        Rule("what is pinned is no candidate, before its first byte and after its removal") { (trial, store) throws(StoreError) in
            let samples = ["a", "b"].map { StoreSample($0) }
            let time = Timestamp(seconds: 1_800_000_000)
            trial.expect(try store.setPinned(samples[0].key, true, time: time), "the first pin changed nothing")
            trial.expect(try !store.setPinned(samples[0].key, true, time: time), "the second pin changed something")
            trial.expectEqual(try store.pinsWithoutBytes(after: nil, limit: 9), [samples[0].key], "pins before the first byte")
            trial.expectEqual(try store.pinsWithoutBytes(after: samples[0].key, limit: 9), [], "pins after the last")
            for sample in samples { try store.commit(sample.commit(store.makeGeneration())) }
            trial.expectEqual(try store.lookup(samples[0].key)?.isPinned, true, "pinned")
            trial.expectEqual(try store.pinsWithoutBytes(after: nil, limit: 9), [], "pins of what is stored")
            trial.expectEqual(try store.pinnedBytes(), 0, "bytes of a pinned resource without one")
            trial.expectEqual(try store.resources(after: nil, limit: 9).map(\.isPinned), [true, false], "pinned in a listing")
            trial.expectEqual(try store.evictionCandidates(after: nil, largerThan: -1, limit: 9).map(\.key), [samples[1].key], "candidates")
            _ = try store.remove(samples[0].key)
            try store.commit(samples[0].commit(store.makeGeneration()))
            trial.expectEqual(try store.lookup(samples[0].key)?.isPinned, true, "pinned after a removal")
            trial.expect(try store.setPinned(samples[0].key, false, time: time), "unpinning changed nothing")
            trial.expect(try !store.setPinned(samples[0].key, false, time: time), "unpinning twice changed something")
            trial.expectEqual(try store.evictionCandidates(after: nil, largerThan: -1, limit: 9).count, 2, "candidates without pins")
            _ = try store.setPinned(samples[1].key, true, time: time)
            try store.setHistory("2026-01-01 readers=1")
            try store.removeAll()
            trial.expectEqual(try store.history(), nil, "history after everything was removed")
            try store.commit(samples[1].commit(store.makeGeneration()))
            trial.expectEqual(try store.lookup(samples[1].key)?.isPinned, false, "pinned after everything was removed")
        },
        Rule("the count is that of resources") { (trial, store) throws(StoreError) in
            trial.expectEqual(try store.count(), 0, "count of an empty store")
            for key in ["a", "b", "a"] { try store.commit(StoreSample(key).commit(store.makeGeneration())) }
            trial.expectEqual(try store.count(), 2, "count")
        },
    ]

    static let closingCases: [Rule] = [
        Rule(storing: "a closed store answers no call") { (trial, store, sample, generation) throws(StoreError) in
            let file = try sample.store([0..<100], of: generation, in: store)
            try store.close()
            trial.expectThrows(.closed, from: "lookup", try store.lookup(sample.key))
            trial.expectThrows(.closed, from: "commit", try store.commit(sample.commit(generation)))
            trial.expectThrows(.closed, from: "discard", try store.discard(.of(0..<1), of: generation))
            trial.expectThrows(.closed, from: "makeDurable", try store.makeDurable())
            trial.expectThrows(.closed, from: "touch", try store.touch([:]))
            trial.expectThrows(.closed, from: "remove", try store.remove(sample.key))
            trial.expectThrows(.closed, from: "removeAll", try store.removeAll())
            trial.expectThrows(.closed, from: "resources", try store.resources(after: nil, limit: 1))
            trial.expectThrows(.closed, from: "totalSizeBytes", try store.totalSizeBytes())
            trial.expectThrows(.closed, from: "evictionCandidates", try store.evictionCandidates(after: nil, largerThan: -1, limit: 1))
            trial.expectThrows(.closed, from: "setPinned", try store.setPinned(sample.key, true, time: sample.time))
            trial.expectThrows(.closed, from: "count", try store.count())
            trial.expectThrows(.closed, from: "close", try store.close())
            trial.expectThrows(.closed, from: "dataFile", try store.dataFile(of: generation, key: sample.key, fileExtension: ""))
            trial.expectThrows(.closed, from: "write", try file.write([1], at: 100))
            try trial.expectPattern(file, sample, generation.rawValue, in: 0, count: 100)
        },
        Rule("durable points may follow one another, with nothing between") { (trial, store) throws(StoreError) in
            try store.makeDurable()
            let sample = StoreSample()
            let generation = store.makeGeneration()
            let file = try sample.store([0..<100], of: generation, in: store)
            try store.makeDurable()
            try store.makeDurable()
            try sample.store([100..<200], of: generation, in: store)
            try store.makeDurable()
            trial.expectEqual(try store.lookup(sample.key)?.spans, .of(0..<200), "spans")
            withExtendedLifetime(file) {}
        },
    ]

    static let persistenceCases: [Rule] = [
        Rule(opening: "everything is there when the store is opened again") { (trial) throws(StoreError) in
            let films = (0..<20).map { StoreSample("film-\($0)", length: $0 % 2 == 0 ? nil : 1 << 20) }
            var before: [StoredResource] = []
            var total: Int64 = 0
            do {
                let store = try trial.open()
                for film in films { try film.store([0..<70_000, 200_000..<200_001], of: store.makeGeneration(), in: store) }
                try store.touch([films[3].key: Timestamp(seconds: 1_900_000_000)])
                _ = try store.setPinned(films[4].key, true, time: Timestamp(seconds: 1_900_000_000))
                before = try store.resources(after: nil, limit: 100)
                total = try store.totalSizeBytes()
                try store.close()
            }
            let store = try trial.open()
            trial.expect(try store.resources(after: nil, limit: 100) == before, "other resources")
            trial.expectEqual(try store.totalSizeBytes(), total, "size")
            trial.expectEqual(try store.count(), films.count, "count")
            for film in films {
                guard let found = try store.lookup(film.key) else { return trial.fail("\(film.key) is gone") }
                trial.expectEqual(found.spans, .of(0..<70_000, 200_000..<200_001), "spans")
                let file = try store.dataFile(of: found.generation, key: film.key, fileExtension: found.fileExtension)
                try store.admitAll(of: found.generation, into: file)
                try trial.expectPattern(file, film, found.generation.rawValue, in: 0, count: 70_000)
                try trial.expectPattern(file, film, found.generation.rawValue, in: 200_000, count: 1)
            }
            try store.close()
        },
        Rule(opening: "a generation goes on growing after the store is opened again") { (trial) throws(StoreError) in
            let sample = StoreSample()
            let first = try trial.open()
            let generation = first.makeGeneration()
            try sample.store([0..<100], of: generation, in: first)
            try first.close()
            let second = try trial.open()
            let file = try sample.store([100..<200], of: generation, in: second)
            trial.expectEqual(try second.lookup(sample.key)?.spans, .of(0..<200), "spans")
            try second.admitAll(of: generation, into: file)
            try trial.expectPattern(file, sample, generation.rawValue, in: 0, count: 200)
            try second.close()
        },
        Rule(opening: "generation numbers are never used twice") { (trial) throws(StoreError) in
            var last = GenerationID(rawValue: 0)
            for round in 0..<4 {
                let store = try trial.open()
                for _ in 0...round {
                    let generation = store.makeGeneration()
                    trial.expect(generation > last, "\(generation) after \(last)")
                    last = generation
                }
                if round % 2 == 0 { try StoreSample().store([0..<10], of: last, in: store) }
                try store.close()
            }
        },
        Rule(opening: "what was removed stays removed when the store is opened again") { (trial) throws(StoreError) in
            let films = ["a", "b", "c"].map { StoreSample($0) }
            let first = try trial.open()
            for film in films { try film.store([0..<10], of: first.makeGeneration(), in: first) }
            _ = try first.remove(films[1].key)
            try first.close()
            let second = try trial.open()
            trial.expectEqual(try second.resources(after: nil, limit: 9).map(\.key.string), ["a", "c"], "keys")
            try second.removeAll()
            try second.close()
            let third = try trial.open()
            trial.expectEqual(try third.count(), 0, "count")
            trial.expectEqual(try third.totalSizeBytes(), 0, "size")
            try third.close()
        },
    ]
}
