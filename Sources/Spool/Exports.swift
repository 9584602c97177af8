// An app that imports `Spool` gets the types of its API with it: keys, ranges, representations,
// errors, events, policies, stores, selections.
@_exported public import SpoolCore
@_exported public import struct SpoolManifests.PresentationSelection
@_exported public import SpoolOrigin
@_exported public import SpoolStore
@_exported public import struct SpoolSystem.SystemError
