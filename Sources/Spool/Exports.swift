// An app that imports `Spool` gets the types of its API with it: keys, ranges, representations,
// errors, events, policies, selections. An app with a store of its own imports `SpoolStore` too, and
// one with a transport of its own `SpoolOrigin`.
@_exported public import SpoolCore
@_exported public import struct SpoolManifests.PresentationSelection
@_exported public import protocol SpoolOrigin.NetworkMonitor
@_exported public import struct SpoolOrigin.OriginPatience
@_exported public import enum SpoolOrigin.PrivateNames
@_exported public import enum SpoolStore.CipherAlgorithm
@_exported public import class SpoolStore.EncryptionKey
@_exported public import struct SpoolStore.EncryptionOptions
@_exported public import struct SpoolStore.KeyParameters
@_exported public import enum SpoolStore.KeyProblem
@_exported public import protocol SpoolStore.KeyProvider
@_exported public import struct SpoolStore.PassphraseKeyProvider
@_exported public import struct SpoolStore.RawKeyProvider
@_exported public import enum SpoolStore.StoreError
@_exported public import struct SpoolSystem.SystemError
