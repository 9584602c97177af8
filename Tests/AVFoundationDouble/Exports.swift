// The real module brings Foundation, and with it URLRequest and URLAuthenticationChallenge, to whoever imports it; so does the double.
@_exported import Dispatch
@_exported import Foundation
@_exported import FoundationNetworking
