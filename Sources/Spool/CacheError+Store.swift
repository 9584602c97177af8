package import SpoolCore
package import SpoolStore

extension CacheError {
    /// Creates the public error for an error of the store.
    package init(_ error: StoreError, key: ResourceKey?) {
        let code: Code =
            switch error {
            case .locked, .readOnly: .storeLocked
            case .closed, .suspended: .closed
            case .transformFailed: .transform
            case .key: .key
            case .full, .tooLarge, .corrupt, .formatTooNew, .formatTooOld, .index, .io: .store
            }
        self.init(code, "\(error)", key: key, cause: error)
        switch error {
        case .corrupt(let damaged, _): self.key = damaged
        case .io(let system): cause = system
        default: break
        }
    }
}

extension StoreError {
    /// Whether a call failed although the store was neither closed nor suspended.
    var isTrouble: Bool { self != .closed && self != .suspended }
}
