// The real module exports Foundation, with URLRequest and URLAuthenticationChallenge, and so does
// the double.
@_exported import Dispatch
@_exported import Foundation
@_exported import FoundationNetworking
