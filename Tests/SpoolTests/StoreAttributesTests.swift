import Spool
import Testing

@Suite struct `What a store is to Apple's systems` {
    @Test func `it is in no backup and can be read while the screen is locked, unless the app says otherwise`() {
        var configuration = Configuration()
        let attributes = StoreAttributes(configuration)
        #expect(attributes?.isExcludedFromBackup == true && attributes?.protection == .completeUntilFirstUserAuthentication)
        configuration.isExcludedFromBackup = false
        configuration.fileProtection = .complete
        let others = StoreAttributes(configuration)
        #expect(others?.isExcludedFromBackup == false && others?.protection == .complete)
    }

    @Test func `it stays as it is where it is only read`() {
        var configuration = Configuration()
        configuration.isReadOnly = true
        #expect(StoreAttributes(configuration) == nil)
    }
}
