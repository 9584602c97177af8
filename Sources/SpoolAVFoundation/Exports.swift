// An app that imports `SpoolAVFoundation` gets the cache and its types too.
@_exported public import Spool
