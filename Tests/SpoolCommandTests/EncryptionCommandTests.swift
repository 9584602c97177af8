import Foundation
import SpoolCore
import SpoolTesting
import Testing

/// The commands on an encrypted store: the sources of its key, and the messages for a wrong one.
@Suite(.timeLimit(.minutes(20)))
struct EncryptionCommandTests {
    private static let length: Int64 = 200_001
    private static let digits = String(repeating: "0aF9", count: 16)

    /// One origin, one file, one store, and key files.
    private final class Scene {
        let directory: ScratchDirectory
        let origin: RawOrigin
        let url: String

        init() throws {
            directory = try ScratchDirectory()
            origin = try RawOrigin()
            url = origin.url("/a-private-song-with-a-long-name.mp3")
            origin.serve(VirtualResource(url: url, seed: 7, length: EncryptionCommandTests.length, contentType: "audio/mpeg"))
        }

        deinit { origin.stop() }

        var bytes: Data { Data(OriginContent(seed: 7).bytes(at: 0, count: Int(EncryptionCommandTests.length))) }

        /// Writes a file that only its owner can read, unless `mode` differs, and returns its path.
        func file(_ name: String, _ content: Data, mode: Int = 0o600) throws -> String {
            let path = directory.path(name)
            #expect(FileManager.default.createFile(atPath: path, contents: content, attributes: [.posixPermissions: mode]))
            return path
        }

        func run(_ words: String..., environment: [String: String] = [:]) throws -> SpoolProcess.Outcome {
            try SpoolProcess.run(words, environment: ["SPOOL_CACHE": directory.path("store")].merging(environment) { $1 }, in: directory)
        }

        /// The bytes of the store's files, by path.
        func stored() throws -> [String: Data] {
            let root = directory.path("store")
            var found: [String: Data] = [:]
            for name in FileManager.default.enumerator(atPath: root)?.compactMap({ $0 as? String }) ?? [] {
                var isDirectory: ObjCBool = false
                guard FileManager.default.fileExists(atPath: "\(root)/\(name)", isDirectory: &isDirectory), !isDirectory.boolValue else {
                    continue
                }
                found[name] = try Data(contentsOf: URL(fileURLWithPath: "\(root)/\(name)"))
            }
            return found
        }
    }

    @Test func `a key file of bytes or of digits opens the store for every command`() throws {
        let scene = try Scene()
        let key = try scene.file("key", Data(Self.digits.utf8) + Data("\n".utf8))
        let values = (0..<32).map { $0 % 2 == 0 ? UInt8(0x0A) : 0xF9 }
        let same = try scene.file("key-of-bytes", Data(values))
        let cipher = ["--cipher", "aes-256-gcm"]
        let first = try SpoolProcess.run(
            ["get", scene.url, "-o", "-", "--cache", scene.directory.path("store"), "--key-file", key] + cipher, in: scene.directory)
        #expect(first.code == 0, "\(first.errors)")
        #expect(first.output == scene.bytes)
        scene.origin.stop()
        let second = try scene.run("get", scene.url, "--key-file", same)
        #expect(second.output == scene.bytes, "\(second.errors)")
        for words in [["ls"], ["stat", scene.url], ["verify"], ["pin", scene.url], ["unpin", scene.url], ["rm", scene.url]] {
            let outcome = try SpoolProcess.run(
                words, environment: ["SPOOL_CACHE": scene.directory.path("store"), "SPOOL_KEY_FILE": key], in: scene.directory)
            #expect(outcome.code == 0, "\(words): \(outcome.errors)")
            #expect(outcome.text.contains(words == ["verify"] ? "no damage" : "a-private-song"), "\(words)")
        }
    }

    @Test func `a passphrase is read from the first line of a file or from the environment`() throws {
        let scene = try Scene()
        let file = try scene.file("phrase", Data("correct horse é\r\nanother line\n".utf8))
        #expect(try scene.run("get", scene.url, "--passphrase-file", file).output == scene.bytes)
        #expect(try scene.run("ls", environment: ["SPOOL_PASSPHRASE": "correct horse é"]).text.contains("a-private-song"))
        #expect(try scene.run("ls", environment: ["SPOOL_PASSPHRASE_FILE": file]).text.contains("a-private-song"))
        let wrong = try scene.run("ls", environment: ["SPOOL_PASSPHRASE": "battery staple"])
        #expect(wrong.code == 1 && wrong.errors.contains("another key"))
        // The command line takes precedence.
        let both = try scene.run(
            "ls", "--passphrase-file", file, environment: ["SPOOL_PASSPHRASE": "battery staple", "SPOOL_KEY_FILE": "none"])
        #expect(both.code == 0, "\(both.errors)")
    }

    @Test func `an encrypted store reveals none of its contents, and a wrong key or none changes nothing`() throws {
        let scene = try Scene()
        let key = try scene.file("key", Data(repeating: 1, count: 32)), other = try scene.file("other", Data(repeating: 2, count: 32))
        #expect(try scene.run("get", scene.url, "--key-file", key).output == scene.bytes)
        let before = try scene.stored()
        for bytes in before.values {
            #expect(bytes.range(of: Data("a-private-song".utf8)) == nil && bytes.range(of: scene.bytes[1000..<1032]) == nil)
        }
        for words in [["ls"], ["get", scene.url], ["verify", "--repair"], ["rm", "--all"], ["serve", "--listen", "127.0.0.1:0"]] {
            func outcome(_ more: [String]) throws -> SpoolProcess.Outcome {
                try SpoolProcess.run(words + more, environment: ["SPOOL_CACHE": scene.directory.path("store")], in: scene.directory)
            }
            let wrong = try outcome(["--key-file", other])
            #expect(wrong.code == 1 && wrong.errors.contains("another key; nothing was changed"), "\(words): \(wrong.errors)")
            let none = try outcome([])
            #expect(none.code == 1 && none.errors.contains("--key-file or --passphrase-file"), "\(words): \(none.errors)")
        }
        #expect(try scene.stored().filter { $0.key != "lock" } == before.filter { $0.key != "lock" })
        #expect(try scene.run("get", scene.url, "--key-file", key).output == scene.bytes)
    }

    @Test func `a key file that others can read is refused, and a pipe is not`() throws {
        let scene = try Scene()
        for mode in [0o640, 0o604, 0o660] {
            let open = try scene.file("open-\(mode)", Data(repeating: 1, count: 32), mode: mode)
            let outcome = try scene.run("get", scene.url, "--key-file", open)
            #expect(outcome.code == 64 && outcome.errors.contains("chmod 600"), "\(outcome.errors)")
        }
        #expect(!FileManager.default.fileExists(atPath: scene.directory.path("store")))
        // `verify --repair` opens the store twice, but a pipe yields its bytes once.
        let script = "\"$0\" \"$@\" --key-file <(printf %s \(Self.digits))"
        for words in [["get", scene.url, "-o", "-"], ["verify", "--repair"]] {
            let bash = Process(), output = Pipe()
            bash.executableURL = URL(fileURLWithPath: "/bin/bash")
            bash.arguments = ["-c", script, try #require(SpoolProcess.executable).path] + words
            bash.environment = ["SPOOL_CACHE": scene.directory.path("store")]
            bash.standardOutput = output
            try bash.run()
            let said = try output.fileHandleForReading.readToEnd() ?? Data()
            bash.waitUntilExit()
            #expect(bash.terminationStatus == 0)
            #expect(words[0] == "verify" ? String(decoding: said, as: UTF8.self).contains("no damage") : said == scene.bytes)
        }
    }

    @Test func `an invalid key is reported by its file's name and never shown`() throws {
        let scene = try Scene()
        let secret = "a-secret-that-is-no-key"
        let cases: [(flag: String, content: Data, names: String)] = [
            ("--key-file", Data(secret.utf8), "32 bytes, or 64 hexadecimal digits"),
            ("--key-file", Data(String(repeating: "g", count: 64).utf8), "32 bytes, or 64 hexadecimal digits"),
            ("--key-file", Data(repeating: 65, count: 5000), "longer than 4096 bytes"),
            ("--passphrase-file", Data("\n\(secret)\n".utf8), "not a passphrase"),
            ("--passphrase-file", Data([0xFF, 0xFE]), "not a passphrase"),
        ]
        for (number, example) in cases.enumerated() {
            let path = try scene.file("secret-\(number)", example.content)
            let outcome = try scene.run("get", scene.url, example.flag, path)
            #expect(outcome.code == 64 && outcome.errors.contains(path) && outcome.errors.contains(example.names), "\(outcome.errors)")
            #expect(!outcome.errors.contains(secret))
        }
        let missing = try scene.run("get", scene.url, "--key-file", scene.directory.path("nowhere"))
        #expect(missing.code == 74 && missing.errors.contains("nowhere"))
        #expect(!FileManager.default.fileExists(atPath: scene.directory.path("store")))
    }

    // MARK: Another key

    @Test func `rekey gives a store another key, and succeeds again when the store already has it`() throws {
        let scene = try Scene()
        let old = try scene.file("old", Data(repeating: 1, count: 32)), new = try scene.file("new", Data(repeating: 2, count: 32))
        #expect(try scene.run("get", scene.url, "--key-file", old).output == scene.bytes)
        let before = try scene.stored().keys.filter { $0.hasPrefix("data/") }
        let outcome = try scene.run("rekey", "--key-file", old, "--new-key-file", new)
        #expect(outcome.code == 0 && outcome.text == "the store has the new key: 1 resource, 195 KiB sealed anew\n", "\(outcome)")
        let again = try scene.run("rekey", "--key-file", old, "--new-key-file", new)
        #expect(again.code == 0 && again.text.contains("0 resources"), "\(again)")
        let after = try scene.stored().keys.filter { $0.hasPrefix("data/") }
        #expect(before.count == 1 && after.count == 1 && before != after)
        scene.origin.stop()
        #expect(try scene.run("get", scene.url, "--key-file", new).output == scene.bytes)
        let refused = try scene.run("ls", "--key-file", old)
        #expect(refused.code == 1 && refused.errors.contains("another key"))
        // From a key file to a passphrase, and to another cipher.
        let phrase = try scene.run(
            "rekey", "--key-file", new, "--cipher", "aes-256-gcm", environment: ["SPOOL_NEW_PASSPHRASE": "correct horse"])
        #expect(phrase.code == 0, "\(phrase)")
        #expect(try scene.run("get", scene.url, environment: ["SPOOL_PASSPHRASE": "correct horse"]).output == scene.bytes)
    }

    @Test func `rekey encrypts a plain store, and a wrong key or a missing store changes nothing`() throws {
        let scene = try Scene()
        let key = try scene.file("key", Data(repeating: 1, count: 32)), other = try scene.file("other", Data(repeating: 2, count: 32))
        let third = try scene.file("third", Data(repeating: 3, count: 32))
        let none = try scene.run("rekey", "--key-file", key, "--new-key-file", other)
        #expect(none.code == 1 && none.errors.contains("there is no store"))
        #expect(!FileManager.default.fileExists(atPath: scene.directory.path("store")))
        #expect(try scene.run("get", scene.url, "--key-file", key).output == scene.bytes)
        let before = try scene.stored()
        let wrong = try scene.run("rekey", "--key-file", other, "--new-key-file", third)
        #expect(wrong.code == 1 && wrong.errors.contains("another key; nothing was changed"))
        let missing = try scene.run("rekey", "--new-key-file", third)
        #expect(missing.code == 1 && missing.errors.contains("--key-file or --passphrase-file"))
        #expect(try scene.stored().filter { $0.key != "lock" } == before.filter { $0.key != "lock" })

        let plain = ["--cache", scene.directory.path("plain")]
        func onPlain(_ words: [String]) throws -> SpoolProcess.Outcome { try SpoolProcess.run(words + plain, in: scene.directory) }
        #expect(try onPlain(["get", scene.url]).output == scene.bytes)
        let refused = try onPlain(["rekey", "--key-file", other, "--new-key-file", key])
        #expect(refused.code == 1 && refused.errors.contains("not encrypted"))
        let sealed = try onPlain(["rekey", "--new-key-file", key])
        #expect(sealed.code == 0 && sealed.text == "the store has the new key: 1 resource, 195 KiB sealed anew\n", "\(sealed)")
        let again = try onPlain(["rekey", "--new-key-file", key])
        #expect(again.code == 0 && again.text.contains("0 resources"), "\(again)")
        scene.origin.stop()
        #expect(try onPlain(["get", scene.url, "--key-file", key]).output == scene.bytes)
        let keyless = try onPlain(["ls"])
        #expect(keyless.code == 1 && keyless.errors.contains("--key-file or --passphrase-file"))
    }

    @Test func `rekey refuses a store that a running server has`() throws {
        let scene = try Scene()
        let key = try scene.file("key", Data(repeating: 1, count: 32)), other = try scene.file("other", Data(repeating: 2, count: 32))
        #expect(try scene.run("get", scene.url, "--key-file", key).output == scene.bytes)
        let server = try SpoolProcess(
            ["serve", "--listen", "127.0.0.1:0", "--key-file", key], environment: ["SPOOL_CACHE": scene.directory.path("store")],
            in: scene.directory)
        _ = server.readLine()
        let refused = try scene.run("rekey", "--key-file", key, "--new-key-file", other)
        #expect(refused.code == 74 && refused.errors.contains("stop it first"), "\(refused)")
        server.send(SIGINT)
        #expect(try server.end().code == 0)
    }

    @Test func `a plain store is not opened with a key`() throws {
        let scene = try Scene()
        #expect(try scene.run("get", scene.url).output == scene.bytes)
        let outcome = try scene.run("ls", environment: ["SPOOL_PASSPHRASE": "correct horse"])
        #expect(outcome.code == 1 && outcome.errors.contains("not encrypted"))
    }
}
