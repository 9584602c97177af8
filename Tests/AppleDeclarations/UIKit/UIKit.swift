// The declarations of UIKit that the examples use.
@_exported import Foundation

@MainActor open class UIViewController: NSObject {
    open func present(_ controller: UIViewController, animated flag: Bool, completion: (() -> Void)? = nil) {}
}
