import Spool
import Testing

@Suite struct `Attributes of a store on Apple systems` {
    @Test func `by default a store is excluded from backups and readable while the screen is locked`() {
        var configuration = Configuration()
        let attributes = StoreAttributes(configuration)
        #expect(attributes?.isExcludedFromBackup == true && attributes?.protection == .completeUntilFirstUserAuthentication)
        configuration.security.isExcludedFromBackup = false
        configuration.security.fileProtection = .complete
        let others = StoreAttributes(configuration)
        #expect(others?.isExcludedFromBackup == false && others?.protection == .complete)
    }

    @Test func `a store that is only read keeps its attributes`() {
        var configuration = Configuration()
        configuration.storage.isReadOnly = true
        #expect(StoreAttributes(configuration) == nil)
    }
}
