// An app imports `Spool` and has the words of its API: keys, ranges, representations, errors, events, policies, stores.
@_exported public import SpoolCore
@_exported public import SpoolOrigin
@_exported public import SpoolStore
