import Spool
import Testing

/// The default directory of a program on macOS.
@Suite struct MacCachesTests {
    @Test func `a program with a bundle has a directory of its own, unless its home is its own`() {
        func own(_ home: String, _ bundle: String?) -> String { MacCaches(home: home, bundle: bundle).own("spool") }
        let shared = "/h/Library/Caches/spool"
        #expect(own("/h", "com.example.app") == "/h/Library/Caches/com.example.app/spool")
        #expect(own("/h", nil) == shared && own("/h", "") == shared && own("/h", "../x") == shared)
        #expect(own("/h/Library/Containers/com.example.app/Data", "com.example.app").hasSuffix("/Data/Library/Caches/spool"))
    }
}
