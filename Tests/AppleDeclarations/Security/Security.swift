// The declarations of Security, and of the parts of Core Foundation that its calls need, which Spool uses.
public typealias OSStatus = Int32
public final class CFString: Hashable {
    public static func == (a: CFString, b: CFString) -> Bool { fatalError("declaration") }
    public func hash(into hasher: inout Hasher) { fatalError("declaration") }
}
// In the system it is a class, to which a dictionary converts by `as`.
public typealias CFDictionary = [CFString: Any]
public typealias CFTypeRef = AnyObject

public var kSecClass: CFString { declared() }
public var kSecClassGenericPassword: CFString { declared() }
public var kSecAttrService: CFString { declared() }
public var kSecAttrAccount: CFString { declared() }
public var kSecAttrAccessible: CFString { declared() }
public var kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString { declared() }
public var kSecValueData: CFString { declared() }
public var kSecReturnData: CFString { declared() }
public var kSecMatchLimit: CFString { declared() }
public var kSecMatchLimitOne: CFString { declared() }
public var errSecSuccess: OSStatus { 0 }
public var errSecDuplicateItem: OSStatus { -25299 }
public var errSecItemNotFound: OSStatus { -25300 }
public var errSecDecode: OSStatus { -26275 }

public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { declared() }
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { declared() }
public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus { declared() }
public func SecItemDelete(_ query: CFDictionary) -> OSStatus { declared() }

func declared<Value>() -> Value { fatalError("declaration") }
