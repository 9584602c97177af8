import SpoolCore
import SpoolStore

// Rules on the metadata that a commit enters and a look-up returns.

extension StoreContract {
    static let factCases: [Rule] = [
        Rule(storing: "every field of a commit comes back") { (trial, store, sample, generation) throws(StoreError) in
            try sample.store([0..<100], of: generation, in: store)
            let wanted = StoredResource(
                key: sample.key, url: sample.url, generation: generation, representation: sample.representation,
                spans: .of(0..<100), fileExtension: "mp4", lastAccess: sample.time)
            var found = try store.lookup(sample.key)
            // The bytes that have checks depend on the store.
            found?.unverified = ByteRangeSet()
            trial.expect(found == wanted, "\(String(describing: found)) instead of \(wanted)")
        },
        Rule("every kind of validator comes back") { (trial, store) throws(StoreError) in
            let time = Timestamp(nanoseconds: -1_234_567_890_123)
            let kinds: [Validator] = [
                .strong(entityTag: "\"a, b; c\""), .weak(entityTag: "W/\"x\""), .lastModified(time, isStrong: true),
                .lastModified(time, isStrong: false), .none, .strong(entityTag: ""),
            ]
            for (number, validator) in kinds.enumerated() {
                var sample = StoreSample("https://media.example/\(number)")
                sample.representation.validator = validator
                try store.commit(sample.commit(store.makeGeneration()))
                trial.expectEqual(try store.lookup(sample.key)?.representation.validator, validator, "validator")
            }
        },
        Rule("every status comes back") { (trial, store) throws(StoreError) in
            for status in [200, 203, 301, 404, 999] {
                var sample = StoreSample("https://media.example/\(status)")
                sample.representation.status = status
                try store.commit(sample.commit(store.makeGeneration()))
                trial.expectEqual(try store.lookup(sample.key)?.representation, sample.representation, "response")
            }
        },
        Rule("a key that is not stored has no resource") { (trial, store) throws(StoreError) in
            let sample = StoreSample()
            trial.expect(try store.lookup(sample.key) == nil, "an empty store has it")
            try store.commit(sample.commit(store.makeGeneration()))
            let other = ResourceKey(normalized: sample.key.string + "/")
            trial.expect(try store.lookup(other) == nil, "a longer key is another key")
            trial.expect(try store.lookup(ResourceKey(normalized: "")) == nil, "the empty key is another key")
        },
        Rule("keys and URLs of any text are kept apart") { (trial, store) throws(StoreError) in
            let keys = ["", "a", "A", "a\u{0}b", "a\u{0}c", "ключ 鍵 🗝", "%2F", "'; DROP TABLE resources; --"]
            for key in keys { try store.commit(StoreSample(key).commit(store.makeGeneration())) }
            for key in keys {
                trial.expectEqual(try store.lookup(ResourceKey(normalized: key))?.url, key + "?signature=9f3", "URL")
            }
            trial.expectEqual(try store.count(), keys.count, "count")
        },
        Rule("a length learnt later belongs to the same generation") { (trial, store) throws(StoreError) in
            var sample = StoreSample(length: nil)
            let generation = store.makeGeneration()
            let file = try sample.store([0..<500], of: generation, in: store)
            trial.expectEqual(try store.lookup(sample.key)?.representation.length, nil, "length while unknown")
            sample.representation.length = 500
            try store.commit(sample.commit(generation))
            let found = try store.lookup(sample.key)
            trial.expectEqual(found?.representation.length, 500, "length")
            trial.expectEqual(found?.generation, generation, "generation")
            trial.expectEqual(found?.spans, .of(0..<500), "spans")
            withExtendedLifetime(file) {}
        },
        Rule("a resource of zero bytes is stored") { (trial, store) throws(StoreError) in
            let sample = StoreSample(length: 0)
            let generation = store.makeGeneration()
            let file = try store.dataFile(of: generation, key: sample.key, fileExtension: sample.fileExtension)
            try store.commit(sample.commit(generation))
            let found = try store.lookup(sample.key)
            trial.expectEqual(found?.representation.length, 0, "length")
            trial.expectEqual(found?.spans, ByteRangeSet(), "spans")
            trial.expectEqual(try file.bytes(at: 0, count: 1), [], "bytes")
        },
        Rule("new header fields and a new URL replace the old ones") { (trial, store) throws(StoreError) in
            var sample = StoreSample()
            let generation = store.makeGeneration()
            try store.commit(sample.commit(generation))
            sample.url = "https://other.example/film.mp4"
            sample.representation.fields = ["Content-Type": "video/webm", "Empty": "", "Cache-Control": "a", "cache-control": "b"]
            sample.representation.responseTime = Timestamp(seconds: 1_800_000_000)
            try store.commit(sample.commit(generation))
            let found = try store.lookup(sample.key)
            trial.expectEqual(found?.url, sample.url, "URL")
            trial.expect(found?.representation == sample.representation, "\(String(describing: found?.representation))")
        },
        Rule("touching sets access times and nothing else does") { (trial, store) throws(StoreError) in
            var sample = StoreSample()
            let generation = store.makeGeneration()
            try store.commit(sample.commit(generation))
            let first = sample.time
            sample.time = Timestamp(seconds: 1_900_000_000)
            try store.commit(sample.commit(generation))
            trial.expectEqual(try store.lookup(sample.key)?.lastAccess, first, "access time after a second commit")
            let later = Timestamp(nanoseconds: 1_900_000_000_000_000_007)
            try store.touch([sample.key: later, ResourceKey(normalized: "unknown"): later])
            trial.expectEqual(try store.lookup(sample.key)?.lastAccess, later, "access time")
            trial.expectEqual(try store.count(), 1, "count after touching an unknown key")
        },
    ]
}
