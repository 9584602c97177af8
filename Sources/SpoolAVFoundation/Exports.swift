// An app imports `SpoolAVFoundation` and has the cache and its words, too.
@_exported public import Spool
