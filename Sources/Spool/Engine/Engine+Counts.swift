import SpoolCore
import SpoolStore
import SpoolSystem

extension Engine {
    /// Passes the counts to their keeper, if there is one. Runs on the index lane.
    ///
    /// - Parameter isLast: Whether the next call may never come.
    func keepCounts(isLast: Bool) {
        guard let keeper = countsKeeper.withLock({ $0 }) else { return }
        do throws(StoreError) { try keeper.keep(statistics, isLast: isLast) } catch {
            // A full disk is reported by what it keeps from being stored.
            if ![.closed, .suspended, .full].contains(error) { record(.storeTrouble("history: \(error)")) }
        }
    }
}
